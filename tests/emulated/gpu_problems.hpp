// Problems by dice that reach the rows of the GPU: round their tiles, of several axes, in runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../cuda/gpu_cases.hpp"
#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"

namespace cornerturn::testing {

// Runs of any length, with gaps, in any order of the outer axes.
inline problem any_runs(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t lengths[] = {2, 3, 7, 16, 31, 64, 65, 127, 128, 251, 512, 1021, 1024, 1500, 4099};
  problem what = any_permutation(roll, element_bytes, max_elements / 64 + 8);
  const std::int64_t length = std::min(roll.of(lengths), std::max<std::int64_t>(2, max_elements / elements_of(what)));
  const std::int64_t gaps[] = {0, 0, 1, 3, 4, 16};
  const std::int64_t src_pitch = length + roll.of(gaps), dst_pitch = length + roll.of(gaps);
  for (int k = 0; k < what.rank; ++k) what.axes[k].src_stride *= src_pitch, what.axes[k].dst_stride *= dst_pitch;
  what.axes[what.rank++] = {length, 1, 1};
  if (roll.one_in(4)) what.axes[roll.below(what.rank - 1)].src_stride *= -1;
  if (roll.one_in(8)) what.axes[roll.below(what.rank - 1)].src_stride = 0;
  return what;
}

// A matrix of any extents that are not large, with the paddings and batches of cases.hpp.
inline problem any_matrix(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t extents[] = {1,  2,  3,  5,   7,   8,   15,  16,  17,  31,  32,  33,  61,  63,
                                      64, 65, 96, 127, 128, 129, 160, 191, 251, 255, 256, 257, 301, 520};
  std::int64_t rows = roll.of(extents), cols = roll.of(extents);
  if (roll.one_in(6)) (roll.one_in(2) ? rows : cols) = 1009 + roll.below(3000);
  while (rows * cols > max_elements) (rows > cols ? rows : cols) /= 2;
  if (roll.one_in(3)) return padded(rows, cols, element_bytes, 16, roll.one_in(2) ? 0 : roll.below(16));
  return matrix(rows, cols, element_bytes, roll.below(77));
}

// Rows that continue each other in dst, columns that continue each other in src, one or more axes of each, and others.
// Pitches are multiples of `unit` elements, but for one in four.
inline problem any_chains(dice& roll, std::int64_t element_bytes, std::int64_t max_elements, std::int64_t unit) {
  constexpr std::int64_t extents[] = {2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 33, 48, 64, 80, 96, 128, 130, 256};
  if (roll.one_in(4)) unit = 1 + roll.below(5);
  problem what{.element_bytes = element_bytes};
  const auto rows = static_cast<int>(1 + roll.below(3)), cols = static_cast<int>(1 + roll.below(3));
  what.rank = rows + cols + static_cast<int>(roll.below(2));
  std::int64_t room = max_elements;
  for (int k = 0; k < what.rank; ++k) {
    what.axes[k].extent = std::min(roll.of(extents), room / (std::int64_t{1} << (what.rank - 1 - k)));
    if (k == 0 || k == rows) what.axes[k].extent = std::min(round_up(what.axes[k].extent, unit), room);
    what.axes[k].extent = std::max<std::int64_t>(what.axes[k].extent, 1);
    room /= what.axes[k].extent;
  }
  const auto stride = [&](std::int64_t axis::*which, int first, int last, const auto& then) {
    std::int64_t next = 1;
    for (int k = first; k < last; ++k) what.axes[k].*which = next, next *= what.axes[k].extent;
    next = round_up(next, unit);
    for (const int k : then) {
      what.axes[k].*which = next;
      next = round_up(next * what.axes[k].extent, unit) + (roll.one_in(4) ? unit : 0);
    }
  };
  const auto others = [&](int first, int last) {
    std::vector<int> all;
    for (int k = 0; k < what.rank; ++k) {
      if (k < first || k >= last) all.push_back(k);
    }
    for (std::size_t k = all.size(); k > 1; --k) std::swap(all[k - 1], all[static_cast<std::size_t>(roll.below(k))]);
    return all;
  };
  stride(&axis::dst_stride, 0, rows, others(0, rows));
  stride(&axis::src_stride, rows, rows + cols, others(rows, rows + cols));
  if (roll.one_in(6)) what.axes[roll.below(rows)].src_stride *= -1;
  if (roll.one_in(6)) what.axes[rows + roll.below(cols)].dst_stride *= -1;
  return what;
}

// Extents round whole and three-quarter tiles of a row, pitches of multiples of 16 bytes or none, some of them batched.
inline problem any_tiles(dice& roll, const kernels::kernel& row, std::int64_t element_bytes, std::int64_t unit) {
  const auto extent = [&](std::int64_t tile) {
    if (tile <= 8) return tile;
    const std::int64_t near[] = {tile,         tile,         tile * 3 / 4,           tile - unit, tile + unit, 2 * tile,
                                 2 * tile + 1, tile * 7 / 8, tile + roll.below(tile)};
    return std::max<std::int64_t>(1, roll.of(near));
  };
  const std::int64_t rows = extent(row.tile_rows), cols = extent(row.tile_cols);
  const std::int64_t src_ld = roll.one_in(2) ? cols : round_up(cols, unit);
  const std::int64_t dst_ld = roll.one_in(2) ? rows : round_up(rows, unit);
  const problem one = transpose_problem(rows, cols, element_bytes, src_ld, dst_ld);
  if (!roll.one_in(3)) return one;
  const std::int64_t src = rows * src_ld, dst = cols * dst_ld;
  if (roll.one_in(2)) return batched(one, 2 + roll.below(3), src, dst);
  return batched(one, 3, roll.one_in(2) ? -src : round_up(src, unit) + unit, round_up(dst, unit) + 2 * unit);
}

inline problem any_gpu_problem(dice& roll, const kernels::kernel* row, std::int64_t element_bytes) {
  const std::int64_t most = 60000 / element_bytes + 600;
  const std::int64_t unit = std::max<std::int64_t>(1, 16 / (element_bytes & -element_bytes));
  switch (roll.below(row != nullptr && row->tile_rows > 0 ? 10 : 6)) {
    case 0:
      return any_matrix(roll, element_bytes, most);
    case 1:
      return any_permutation(roll, element_bytes, most);
    case 2:
      return any_even_permutation(roll, element_bytes, most);
    case 3:
      return any_strides(roll, element_bytes, most / 2);
    case 4:
      return any_runs(roll, element_bytes, most / 2);
    case 5:
      return any_chains(roll, element_bytes, 2 * most, unit);
    default:
      return any_tiles(roll, *row, element_bytes, unit);
  }
}

}  // namespace cornerturn::testing
