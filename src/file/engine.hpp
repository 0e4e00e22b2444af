// Runs one pass: several threads read parts of a box, transpose them into the buffer of the box, and write the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include "cornerturn/file.hpp"
#include "file/passes.hpp"

namespace cornerturn::files {

struct engine_calls {
  array_source* src = nullptr;
  const std::byte* memory = nullptr;  // src as a packed row-major array; then src is not read
  array_sink* dst = nullptr;
  std::function<void(std::int64_t bytes)> progress{};
  std::function<bool(std::int64_t box)> is_done{};
  std::function<void(std::int64_t number, std::span<const std::byte> box)> finished{};
};

struct engine_result {
  std::string kernel;
  int threads = 0;  // used
  std::int64_t bytes = 0;
  std::exception_ptr fault{};  // the first one of a thread
};

// Effect  runs the pass. All threads have ended when it returns
// Errors  out_of_memory: no buffers
[[nodiscard]] engine_result run_pass(const pass& how, const engine_calls& calls);

}  // namespace cornerturn::files
