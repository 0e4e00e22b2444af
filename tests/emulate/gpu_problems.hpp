// Random problems for the rows of the GPU: extents of about a tile, fused axes, runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
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

// Arrays with some axes in descending order of src, contiguous in dst or with gaps there.
inline problem any_flip(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t extents[] = {1, 2, 3, 4, 7, 16, 31, 64, 65, 127, 250, 513, 1021, 4099, 20000};
  problem what{.element_bytes = element_bytes};
  what.rank = static_cast<int>(1 + roll.below(4));
  std::int64_t src = 1, dst = 1;
  const auto gap = [&] { return roll.one_in(4) ? roll.below(9) : 0; };
  for (int k = what.rank - 1; k >= 0; --k) {
    const std::int64_t extent = std::max<std::int64_t>(1, std::min(roll.of(extents), max_elements / src));
    what.axes[k] = {extent, roll.one_in(2) ? -src : src, 0};
    src = src * extent + gap();
  }
  const bool is_reversed = roll.one_in(3);
  for (int i = 0; i < what.rank; ++i) {
    axis& one = what.axes[is_reversed ? i : what.rank - 1 - i];
    one.dst_stride = dst;
    dst = dst * one.extent + gap();
  }
  return what;
}

// A matrix of any extents up to some thousands, with the paddings and batches of cases.hpp.
inline problem any_matrix(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t extents[] = {1,  2,  3,  5,   7,   8,   15,  16,  17,  31,  32,  33,  61,  63,
                                      64, 65, 96, 127, 128, 129, 160, 191, 251, 255, 256, 257, 301, 520};
  std::int64_t rows = roll.of(extents), cols = roll.of(extents);
  if (roll.one_in(6)) (roll.one_in(2) ? rows : cols) = 1009 + roll.below(3000);
  while (rows * cols > max_elements) (rows > cols ? rows : cols) /= 2;
  if (roll.one_in(3)) return padded(rows, cols, element_bytes, 16, roll.one_in(2) ? 0 : roll.below(16));
  return matrix(rows, cols, element_bytes, roll.below(77));
}

// One or more fused axes of rows, one or more fused axes of columns, and others. Pitches are multiples of `unit`
// elements in three of four problems.
inline problem any_fused_axes(dice& roll, std::int64_t element_bytes, std::int64_t max_elements, std::int64_t unit) {
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
  if (roll.one_in(6)) what.axes[roll.below(what.rank)].src_stride = 0;
  return what;
}

// Extents of about a whole tile of a row, or of three quarters; any pitches, or multiples of 16 bytes; batched or not.
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

// Short lines of whole chunks of 16 bytes on one side, long lines at any address on the other.
inline problem any_short_side(dice& roll, std::int64_t element_bytes) {
  const std::int64_t v = std::max<std::int64_t>(1, 16 / element_bytes);
  const std::int64_t chunks[] = {1, 2, 3, 4, 6, 7, 8, 12, 16};
  const std::int64_t few = v * roll.of(chunks);
  const std::int64_t two_tiles = (element_bytes == 1 ? 65536 : element_bytes == 2 ? 32768 : 8192) / few;
  const std::int64_t many = two_tiles + roll.below(two_tiles) - (roll.one_in(8) ? two_tiles / 4 : 0);
  const std::int64_t ld = many + (roll.one_in(2) ? 0 : roll.below(20));
  const bool columns = roll.one_in(2);
  const problem one = columns ? transpose_problem(many, few, element_bytes, few + v * roll.below(2), ld)
                              : transpose_problem(few, many, element_bytes, ld, few + v * roll.below(2));
  if (!roll.one_in(3)) return one;
  const std::int64_t aligned = round_up(many * (few + v), v), any = ld * few + roll.below(5);
  return batched(one, 2, columns ? aligned : any, columns ? any : aligned);
}

// Many matrices of 1 to 8 chunks a side, with gaps of whole chunks.
inline problem any_small_matrices(dice& roll, std::int64_t element_bytes) {
  const std::int64_t v = std::max<std::int64_t>(1, 16 / element_bytes);
  const std::int64_t rows = v << roll.below(4), cols = v << roll.below(4);
  const std::int64_t src_ld = cols + (roll.one_in(3) ? v * roll.below(3) : 0), dst_ld = rows + (roll.one_in(3) ? v : 0);
  const problem one = transpose_problem(rows, cols, element_bytes, src_ld, dst_ld);
  const std::int64_t src = rows * src_ld + v * roll.below(3), dst = cols * dst_ld + v * roll.below(2);
  const std::int64_t many = 8192 * v / (rows * cols) + roll.below(8192 * v / (rows * cols));
  const problem all = batched(one, many, roll.one_in(8) ? -src : src, dst);
  return roll.one_in(4) ? batched(all, 2, many * src + v, many * dst) : all;
}

// Images of elements of three units, of about a tile of 64 x 64.
inline problem any_pixels(dice& roll, std::int64_t element_bytes) {
  const auto extent = [&] { return 4 * (8 + roll.below(30)) + (roll.one_in(6) ? 1 : 0); };
  const std::int64_t rows = extent(), cols = extent();
  const problem one =
      transpose_problem(rows, cols, 3 * element_bytes, cols + 4 * roll.below(3), rows + 4 * roll.below(2));
  return roll.one_in(3) ? batched(one, 2, rows * (cols + 12), cols * (rows + 8)) : one;
}

// Many matrices of any size, contiguous on either side, or not.
inline problem any_odd_matrices(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  const std::int64_t rows = 1 + roll.below(roll.one_in(2) ? 40 : 900), cols = 1 + roll.below(max_elements / rows + 1);
  const std::int64_t src_gap = roll.one_in(3) ? roll.below(20) : 0, dst_gap = roll.one_in(3) ? roll.below(20) : 0;
  const problem one = transpose_problem(rows, cols, element_bytes, cols + src_gap, rows + dst_gap);
  const std::int64_t src = rows * (cols + src_gap) + (roll.one_in(3) ? roll.below(20) : 0),
                     dst = cols * (rows + dst_gap) + (roll.one_in(3) ? roll.below(20) : 0);
  const std::int64_t many = 2 + roll.below(roll.one_in(2) ? 4 : 40);
  const problem all = batched(one, many, roll.one_in(8) ? -src : src, dst);
  return roll.one_in(4) ? batched(all, 2, many * src, many * dst) : all;
}

inline problem any_gpu_problem(dice& roll, const kernels::kernel* row, std::int64_t element_bytes) {
  const std::int64_t most = 60000 / element_bytes + 600;
  const std::int64_t unit = std::max<std::int64_t>(1, 16 / (element_bytes & -element_bytes));
  const std::string_view family = row == nullptr ? "" : row->family;
  if ((family == "tall_skinny" || family == "short_wide") && row->tile_rows == 0 && roll.one_in(2))
    return any_short_side(roll, element_bytes);
  if (family == "panel") return any_odd_matrices(roll, element_bytes, most / (roll.one_in(2) ? 8 : 1));
  switch (roll.below(row != nullptr && row->tile_rows > 0 ? 14 : 10)) {
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
      return any_fused_axes(roll, element_bytes, 2 * most, unit);
    case 6:
      return any_short_side(roll, element_bytes);
    case 7:
      return any_small_matrices(roll, element_bytes);
    case 8:
      return any_pixels(roll, element_bytes);
    case 9:
      return any_flip(roll, element_bytes, 2 * most);
    default:
      return any_tiles(roll, *row, element_bytes, unit);
  }
}

}  // namespace cornerturn::testing
