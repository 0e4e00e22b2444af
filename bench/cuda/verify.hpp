// The check of every element on the device, by a naive walk of its own: nothing of the library is used.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/case.hpp"

namespace cornerturn::bench::cuda {

// What a check found: places are byte offsets from dst, or src, the lowest that was met; none where it was right.
struct finding {
  static constexpr unsigned long long none = ~0ULL;
  unsigned long long element;  // an element differs
  unsigned long long outside;  // a byte that is no element's was written: padding or a guard; + device_guard_bytes
  unsigned long long source;   // src itself was written
};

// Effect  enqueues the comparison of each element and of each byte of dst's span that is none; `into` is on the device
// Shape   the axes are those of dst, outermost first, each inside the one before it
void compare(const view& what, const std::byte* src, const std::byte* dst, finding* into, cudaStream_t on);

// Effect  "" for a right result
[[nodiscard]] std::string sentence(const finding& found);

}  // namespace cornerturn::bench::cuda
