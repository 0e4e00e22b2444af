// Arithmetic on runs of contiguous elements, for the SIMD target in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/op.hpp"

namespace cornerturn::kernels::cpu {

// Effect  to[r][k] = math(src[r][k], second[r][k]) for r < count, k < n. An array that the arithmetic does not use is not
//         read and may be null
// Alias   to[r] may be equal to second[r]; apart from that it overlaps neither src[r] nor second[r]
using run_function = void (*)(const op& how, std::int64_t count, const std::byte* const* src,
                              const std::byte* const* second, std::byte* const* to, std::int64_t n, float scale);

[[nodiscard]] run_function run_of(const op& how) noexcept;

}  // namespace cornerturn::kernels::cpu
