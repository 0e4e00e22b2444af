// 64-bit integer arithmetic that reports overflow.
#pragma once

#include <cstdint>

namespace cornerturn::base {

// Both return false, and leave `out` unchanged, if the result exceeds 64 bits.
[[nodiscard]] constexpr bool checked_mul(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  out = product;
  return true;
}

[[nodiscard]] constexpr bool checked_add(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  out = sum;
  return true;
}

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b > 0 ? 1 : 0);
}

// |a|; INT64_MIN, whose magnitude does not fit, returns INT64_MAX.
[[nodiscard]] constexpr std::int64_t magnitude(std::int64_t a) noexcept {
  if (a == INT64_MIN) return INT64_MAX;
  return a < 0 ? -a : a;
}

}  // namespace cornerturn::base
