// Checks every element on the device by a simple independent walk: it uses no code of the library.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/case.hpp"

namespace cornerturn::bench::cuda {

// The findings of a check. Each is the lowest byte offset of a fault in dst or src, or `none`.
struct finding {
  static constexpr unsigned long long none = ~0ULL;
  unsigned long long element;  // an element differs
  unsigned long long outside;  // padding or a guard of dst was written; the offset is from the begin of the first guard
  unsigned long long source;   // src itself was written
};

// Effect  enqueues the comparison of each element, and the check of the padding in the span of dst. `into` is on the device
// Shape   the axes are in the order of dst, outermost first. In dst each axis is inside one step of the axis before it
void compare(const view& what, const std::byte* src, const std::byte* dst, finding* into, cudaStream_t on);

// Effect  returns a sentence about the first fault, or "" for a correct result
[[nodiscard]] std::string sentence(const finding& found);

}  // namespace cornerturn::bench::cuda
