// Math on runs of elements that lie side by side, for the SIMD target in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/op.hpp"

namespace cornerturn::kernels::cpu {

// Effect  to[k] = math(src[k], second[k]) for k < n; src or second is not read where math has no use for it
// Alias   to overlaps neither
using run_function = void (*)(const op& how, const std::byte* src, const std::byte* second, std::byte* to,
                              std::int64_t n, float scale);

[[nodiscard]] run_function run_of(const op& how) noexcept;

}  // namespace cornerturn::kernels::cpu
