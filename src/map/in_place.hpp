// What a problem is when src and dst are one memory: which places trade their elements.
//   nothing      every axis has one stride on both sides: each element is where it belongs
//   involution   axes that are not so come in pairs of one extent, each with the other's strides: two places swap
//   rectangle    rows x cols packed elements become cols x rows packed elements, perhaps several times: cycles
//   impossible   anything else: src and dst are not the same places, or the permutation is neither of these
#pragma once

#include <array>
#include <cstdint>

#include "map/canonical.hpp"

namespace cornerturn::map {

enum class in_place_kind { impossible, nothing, involution, rectangle };

struct in_place_form {
  in_place_kind kind = in_place_kind::impossible;
  std::int64_t unit = 1;  // words of an element, contiguous on both sides
  // Of an involution: the strides of a pair of axes, smallest dst_stride first. The place of (x, y) is the sum of
  // x[k] * pairs[k].src_stride + y[k] * pairs[k].dst_stride, and it trades with that of (y, x).
  int pair_count = 0;
  std::array<axis, max_axes> pairs{};
  std::int64_t rows = 1;  // of a rectangle
  std::int64_t cols = 1;
  int fixed_count = 0;  // axes with one stride on both sides, outermost first
  std::array<axis, max_axes> fixed{};
};

[[nodiscard]] in_place_form in_place(const canonical& form) noexcept;

}  // namespace cornerturn::map
