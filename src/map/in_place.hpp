// Classifies the permutation of a problem whose src is its dst.
//   nothing      every axis has equal strides on both sides: no element changes its address
//   involution   all other axes form pairs with equal extents and swapped strides: elements are swapped in pairs
//   rectangle    rows x cols packed elements become cols x rows packed elements, with any batch: cycles
//   impossible   src and dst cover different addresses, or the permutation is none of the above
#pragma once

#include <array>
#include <cstdint>

#include "map/canonical.hpp"

namespace cornerturn::map {

enum class in_place_kind { impossible, nothing, involution, rectangle };

struct in_place_form {
  in_place_kind kind = in_place_kind::impossible;
  std::int64_t unit = 1;  // words of an element, contiguous on both sides
  // Involution: the strides of each pair of axes, smallest dst_stride first. Element (x, y) has the offset
  // sum of x[k] * pairs[k].src_stride + y[k] * pairs[k].dst_stride. It is swapped with element (y, x).
  int pair_count = 0;
  std::array<axis, max_axes> pairs{};
  std::int64_t rows = 1;  // rectangle
  std::int64_t cols = 1;
  int fixed_count = 0;  // axes with equal strides on both sides, outermost first
  std::array<axis, max_axes> fixed{};
};

[[nodiscard]] in_place_form in_place(const canonical& form) noexcept;

}  // namespace cornerturn::map
