// Arithmetic on runs of contiguous elements, for the SIMD target in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/op.hpp"

namespace cornerturn::kernels::cpu {

// Effect  to[r][k] = math(src[r][k], second[r][k]) for r < count, k < n; src or second is not read where math has no
//         use for it, and may be null then
// Alias   a run of `to` overlaps neither of its own, but may be that of second
using run_function = void (*)(const op& how, std::int64_t count, const std::byte* const* src,
                              const std::byte* const* second, std::byte* const* to, std::int64_t n, float scale);

[[nodiscard]] run_function run_of(const op& how) noexcept;

}  // namespace cornerturn::kernels::cpu
