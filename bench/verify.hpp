// Checks every element of a result by an independent walk: it uses no code of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/case.hpp"

namespace cornerturn::bench {

// Effect  returns "" when dst[dst offset] == src[src offset], byte for byte, at every index. Else the text names the place of
//         the first difference that was found
// Cost    one tiled pass over src and dst, on all threads
[[nodiscard]] std::string difference(const view& what, const std::byte* src, const std::byte* dst);

}  // namespace cornerturn::bench
