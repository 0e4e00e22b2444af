// The kernels that a plan starts on a GPU, told and not started: for tools that count or run them elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "cornerturn/problem.hpp"
#include "kernels/gpu/traits.hpp"

#pragma GCC visibility push(default)
namespace cornerturn::detail {

struct byte_range {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

struct gpu_launch {
  const char* row = nullptr;
  const void* arguments = nullptr;  // the struct that the kernel takes; valid during the call
  std::uint32_t blocks = 0;
  int shared_bytes = 0;
  std::vector<std::uint32_t> digits;  // a block's number in mixed radix: the extent of each digit, fastest first
  byte_range src;
  byte_range dst;
  byte_range second;  // that is stored too, or only loaded
  bool second_written = false;
  byte_range table;  // of a batch
  std::uint32_t* flags = nullptr;
  std::int64_t flag_count = 0;
};

struct gpu_arguments {
  const std::byte* src = nullptr;  // element 0, as plan::execute takes it
  std::byte* dst = nullptr;
  std::byte* second = nullptr;
  const float* scale = nullptr;
  std::function<std::byte*(std::int64_t bytes)> workspace;  // of a rectangle in place
};

// Effect  calls each(launch) for each kernel that the plan would start, in order
// Errors  invalid_argument: `row` is no GPU row of this build, or it cannot move the problem from these pointers
void for_each_launch(const problem& what, const kernels::gpu_traits& on, std::string_view row, const gpu_arguments& all,
                     const std::function<void(const gpu_launch&)>& each);

// Effect  calls each(launch) for each kernel that a batch of this problem would start, from src[k] to dst[k]
// Errors  invalid_argument: an item has a launch of its own
void for_each_batch_launch(const problem& what, std::span<const std::byte* const> src, std::span<std::byte* const> dst,
                           const kernels::gpu_traits& on, const std::function<void(const gpu_launch&)>& each);

// The names of the GPU rows of this build.
[[nodiscard]] std::vector<std::string_view> gpu_rows();

}  // namespace cornerturn::detail
#pragma GCC visibility pop
