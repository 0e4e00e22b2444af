// The canonical problem: the same set of moves, written in one way only.
//   1. an extent of 0 anywhere: empty, rank 0
//   2. axes of extent 1 are dropped
//   3. an element size that is no power of two up to 16 bytes becomes words: the largest power of two that divides it,
//      with a trailing unit-stride axis of that many words
//   4. each axis is flipped, if need be, so that the stride that is smaller in magnitude is positive (a tie: that of
//   dst)
//   5. axes are ordered by the magnitude of their dst stride, largest first
//   6. neighbours that are contiguous in both src and dst are folded into one
//   7. an innermost axis that is contiguous in both is widened into larger words, up to max_word_bytes
// Where problem::math does something, a word is an element: 3 and 7 are left out, and 6 wants the second array's
// strides to go on too. Where beta multiplies dst, the second array is dst; where there is none, its strides are 0. Two
// problems that move the same bytes in the same order of axes have one canonical form.
#pragma once

#include <array>
#include <cstdint>

#include "cornerturn/problem.hpp"

namespace cornerturn::map {

inline constexpr int max_axes = max_rank + 1;  // the axis of words inside an element comes on top

struct canonical {
  std::int64_t word_bytes = 1;      // 1, 2, 4, 8 or 16; strides and offsets count words
  std::int64_t dst_word_bytes = 1;  // the same unless elements are converted; also of the second array
  int rank = 0;
  bool empty = false;
  std::array<axis, max_axes> axes{};  // outermost in dst first
  std::int64_t src_offset = 0;        // from the caller's pointer to the word of index 0
  std::int64_t dst_offset = 0;
  std::int64_t second_offset = 0;
  friend bool operator==(const canonical&, const canonical&) = default;
};

// The bytes that one side touches, relative to the caller's pointer: [lo, hi).
struct byte_span {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

// Requires  a problem that api/check.cpp accepts: products and spans fit 63 bits
[[nodiscard]] canonical canonicalize(const problem& what, std::int64_t max_word_bytes = 16) noexcept;

[[nodiscard]] std::int64_t words(const canonical& form) noexcept;  // moved in all; 0 when empty
[[nodiscard]] byte_span src_span(const canonical& form) noexcept;
[[nodiscard]] byte_span dst_span(const canonical& form) noexcept;
[[nodiscard]] byte_span second_span(const canonical& form) noexcept;

// True when math changes no element and there is no second array: what the move of bits does.
[[nodiscard]] bool only_moves(const problem& what) noexcept;

// The src and dst word offsets of the linear index i (last axis fastest), 0 <= i < words(form): the map itself.
struct offsets {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::int64_t second = 0;
};
[[nodiscard]] offsets at(const canonical& form, std::int64_t i) noexcept;

}  // namespace cornerturn::map
