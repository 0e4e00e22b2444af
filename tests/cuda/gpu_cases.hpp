// Problems that tests/kernels/cases.hpp does not have: sizes round the tiles of the GPU's rows, with addresses that are
// multiples of 16 bytes, so that no row is left without its edges.
#pragma once

#include "../kernels/cases.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::testing {

inline std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// A matrix whose leading dimensions are multiples of `unit` elements plus `odd`.
inline problem padded(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes, std::int64_t unit,
                      std::int64_t odd = 0) {
  return transpose_problem(rows, cols, element_bytes, round_up(std::max<std::int64_t>(cols, 1), unit) + odd,
                           round_up(std::max<std::int64_t>(rows, 1), unit) + odd);
}

// Round the tile of one row: both sides meet -1, 0 and +1, one tile and several.
template <class Visit>
void for_each_edge_of(const kernels::kernel& row, std::int64_t element_bytes, dice& roll, const Visit& visit) {
  if (row.tile_rows == 0) return;
  const std::int64_t unit = std::max<std::int64_t>(1, 16 / std::min<std::int64_t>(element_bytes & -element_bytes, 16));
  for (const std::int64_t r : {row.tile_rows - 1, row.tile_rows, row.tile_rows + 1}) {
    for (const std::int64_t c : {row.tile_cols - 1, row.tile_cols, row.tile_cols + 1}) {
      visit(padded(r, c, element_bytes, unit));
      visit(padded(r, c, element_bytes, unit, 1 + roll.below(2 * unit)));
    }
  }
  const std::int64_t many_rows = 2 * row.tile_rows + 1 + roll.below(row.tile_rows);
  const std::int64_t many_cols = 2 * row.tile_cols + 1 + roll.below(row.tile_cols);
  visit(padded(many_rows, many_cols, element_bytes, unit));
  visit(padded(many_rows, many_cols, element_bytes, 1));
  visit(padded(many_rows, 3, element_bytes, unit));
  visit(padded(2, many_cols, element_bytes, unit));
  // Batches, forward and backward, and rows and columns that are several axes.
  const problem one = padded(row.tile_rows / 2 + 1, row.tile_cols / 2 + 1, element_bytes, unit);
  const std::int64_t src_size = one.axes[1].extent * one.axes[1].src_stride;
  const std::int64_t dst_size = one.axes[0].extent * one.axes[0].dst_stride;
  visit(batched(one, 5, src_size, dst_size));
  visit(batched(one, 3, -src_size, dst_size));
  visit(batched(one, 4, src_size, -dst_size));
  visit(batched(one, 3, 0, dst_size));
  const std::int64_t a = round_up(row.tile_rows / 4 + 1, unit), b = round_up(row.tile_cols / 4 + 1, unit);
  visit(permute_problem(std::vector<std::int64_t>{3, a, 5, b}, std::vector<int>{3, 0, 1, 2}, element_bytes));
  visit(permute_problem(std::vector<std::int64_t>{a, 3, b, 4}, std::vector<int>{2, 3, 1, 0}, element_bytes));
  visit(permute_problem(std::vector<std::int64_t>{4, b, 2, a}, std::vector<int>{3, 1, 0, 2}, element_bytes));
}

// Packed permutations with many extents that are powers of two: what rows of whole chunks accept.
inline problem any_even_permutation(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t extents[] = {2, 4, 8, 16, 16, 32, 32, 64, 3, 5, 48, 80};
  const int rank = static_cast<int>(2 + roll.below(5));
  std::vector<std::int64_t> shape;
  std::vector<int> axes;
  std::int64_t total = 1;
  for (int k = 0; k < rank; ++k) {
    std::int64_t extent = roll.of(extents);
    if (total * extent > max_elements) extent = 2;
    total *= extent;
    shape.push_back(extent);
    axes.push_back(k);
  }
  for (int k = rank - 1; k > 0; --k) {
    const auto other = static_cast<int>(roll.below(k + 1));
    std::swap(axes[k], axes[other]);
    std::swap(shape[k], shape[static_cast<std::size_t>(roll.below(k + 1))]);
  }
  problem what = permute_problem(shape, axes, element_bytes);
  if (roll.one_in(4)) {
    axis& one = what.axes[roll.below(what.rank)];
    (roll.one_in(2) ? one.src_stride : one.dst_stride) *= -1;
  }
  return what;
}

}  // namespace cornerturn::testing
