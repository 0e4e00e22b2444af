// Division of a 32-bit number by a divisor known to the plan, as a multiplication.
//   q = (high32(n * multiplier) + n) >> shift
//   shift = ceil(log2 d),  multiplier = floor(2^32 (2^shift - d) / d) + 1
// Exact for n < 2^31 and 1 <= d < 2^31: the sum fits 32 bits.
// Source: Granlund and Montgomery, Division by invariant integers using multiplication, PLDI 1994.
#pragma once

#include <cstdint>

#include "map/host_device.hpp"

namespace cornerturn::map {

struct fast_quotient {
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;

  constexpr fast_quotient() = default;
  // A count of 2^32 is 0 here. Its offer finds too many blocks later, and is refused.
  constexpr explicit fast_quotient(std::uint32_t d) {
    if (d == 0) return;
    while ((std::uint64_t{1} << shift) < d) ++shift;
    multiplier = static_cast<std::uint32_t>((((std::uint64_t{1} << shift) - d) << 32) / d + 1);
  }

  CORNERTURN_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> 32);
    return (high + n) >> shift;
  }
};

struct fast_divisor {
  std::uint32_t divisor = 1;
  fast_quotient by;

  constexpr fast_divisor() = default;
  constexpr explicit fast_divisor(std::uint32_t d) : divisor(d), by(d) {}

  CORNERTURN_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t n) const { return by.quotient(n); }
};

}  // namespace cornerturn::map
