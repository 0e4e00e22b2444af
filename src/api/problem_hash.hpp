// Problems as keys of a table: a hash and an equality that read the axes in use only, and numbers bit by bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cornerturn/problem.hpp"

namespace cornerturn::api {

// Sums products of pairs of words. The products are independent, so the processor overlaps them.
class hash_sum {
 public:
  void add(std::uint64_t a, std::uint64_t b) noexcept {
    salt_ += 0x9e3779b97f4a7c15U;  // the place of a pair matters
    const auto product = static_cast<wide>(a ^ salt_) * (b ^ (salt_ + 0xd1b54a32d192ed03U));
    sum_ += static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return sum_ ^ sum_ >> 32; }

 private:
  __extension__ using wide = unsigned __int128;

  std::uint64_t salt_ = 0;
  std::uint64_t sum_ = 0;
};

// All of `math` but the scalars.
[[nodiscard]] inline std::uint64_t bits_of(const arithmetic& math) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(math.src)) << 40 ^
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(math.dst)) << 16 ^
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(math.second)) << 3 ^ (math.conj ? 4U : 0U) ^
         (math.saturate ? 2U : 0U) ^ (math.scaled ? 1U : 0U);
}

// A rank out of range counts as the nearest one in range.
[[nodiscard]] inline int axes_of(const problem& what) noexcept { return std::clamp(what.rank, 0, max_rank); }

// Returns  a hash of all of `what`
[[nodiscard]] inline std::uint64_t hash_of(const problem& what) noexcept {
  const auto word = [](auto number) { return std::bit_cast<std::uint64_t>(number); };
  hash_sum sum;
  sum.add(word(what.element_bytes), static_cast<std::uint64_t>(what.rank) << 1 ^ (what.in_place ? 1 : 0));
  for (int k = 0; k < axes_of(what); ++k) {
    const axis& one = what.axes[static_cast<std::size_t>(k)];
    sum.add(word(one.extent), word(one.src_stride));
    sum.add(word(one.dst_stride), word(one.second_stride));
  }
  sum.add(word(what.math.alpha.re), word(what.math.alpha.im));
  sum.add(word(what.math.beta.re), word(what.math.beta.im) ^ bits_of(what.math));
  return sum.value();
}

// Returns  whether a and b agree. Scalars are compared by their bits: -0.0 is not 0.0, and a NaN is itself
[[nodiscard]] inline bool is_same(const problem& a, const problem& b) noexcept {
  const auto same_bits = [](const scalar& one, const scalar& other) {
    return std::memcmp(&one, &other, sizeof one) == 0;
  };
  return a.element_bytes == b.element_bytes && a.rank == b.rank && a.in_place == b.in_place &&
         std::equal(a.axes.begin(), a.axes.begin() + axes_of(a), b.axes.begin()) && a.math.src == b.math.src &&
         a.math.dst == b.math.dst && a.math.second == b.math.second && a.math.conj == b.math.conj &&
         a.math.saturate == b.math.saturate && a.math.scaled == b.math.scaled &&
         same_bits(a.math.alpha, b.math.alpha) && same_bits(a.math.beta, b.math.beta);
}

}  // namespace cornerturn::api
