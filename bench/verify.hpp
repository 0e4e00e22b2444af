// The check of every element of a result, by a walk of its own: nothing of the library is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/case.hpp"

namespace cornerturn::bench {

// Effect  "" when dst[dst offset] == src[src offset], byte for byte, at every index; else where the first difference
//         that was found lies
// Cost    one tiled pass over both sides, on all threads
[[nodiscard]] std::string difference(const view& what, const std::byte* src, const std::byte* dst);

}  // namespace cornerturn::bench
