// The problems of every kernel test. Rules make all of them from sizes and a fixed seed; none is written by hand.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "../thinner.hpp"
#include "base/machine.hpp"
#include "cornerturn/problem.hpp"
#include "kernels/cpu/split.hpp"
#include "plan/choose.hpp"

namespace cornerturn::testing {

// splitmix64, so that the cases do not depend on the standard library.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class Container>
  auto of(const Container& all) {
    return *(std::begin(all) + below(static_cast<std::int64_t>(std::size(all))));
  }

 private:
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::uint64_t state_;
};

inline constexpr std::int64_t element_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40, 48};

// Sizes around every power of two that a register block, a strip, a line or a flush can have, and primes.
inline constexpr std::int64_t edges[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 31, 32, 33, 64, 67};

// A machine with the SIMD target in use here, so that its offers can run; or with another one, for tests of choices.
inline base::machine machine_with(std::int64_t l2_bytes, bool amd = false,
                                  base::simd_target simd = kernels::this_machine().simd) {
  base::machine made;
  made.amd = amd;
  made.simd = simd;
  made.l1d_bytes = 32 << 10;
  made.l2_bytes = l2_bytes;
  made.l3_bytes = 8 * l2_bytes;
  made.page_bytes = 4096;
  return made;
}

inline problem permuted(std::initializer_list<std::int64_t> extents, std::initializer_list<int> axes,
                        std::int64_t element_bytes) {
  return permute_problem(std::vector(extents), std::vector(axes), element_bytes);
}

inline problem strided(std::int64_t element_bytes, std::initializer_list<axis> axes) {
  problem what{.element_bytes = element_bytes, .rank = static_cast<int>(axes.size())};
  std::copy(axes.begin(), axes.end(), what.axes.begin());
  return what;
}

// A matrix whose paddings, batch and signs follow from its size.
inline problem matrix(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes, std::int64_t variant) {
  const std::int64_t src_pad[] = {0, 0, 1, 3, 0, 13, 64};
  const std::int64_t dst_pad[] = {0, 5, 0, 1, 64, 2, 0};
  const std::int64_t src_ld = std::max<std::int64_t>(1, cols) + src_pad[variant % 7];
  const std::int64_t dst_ld = std::max<std::int64_t>(1, rows) + dst_pad[variant % 7];
  problem what = transpose_problem(rows, cols, element_bytes, src_ld, dst_ld);
  if (variant % 5 == 1) what = batched(what, 3, rows * src_ld, cols * dst_ld);
  if (variant % 5 == 2) what = batched(what, 2, rows * src_ld + 7, cols * dst_ld + 9);
  if (variant % 11 == 3) what = batched(what, 2, 0, -4 * (cols * dst_ld + 9));
  if (variant % 11 == 4) what.axes[0].src_stride *= -1;
  if (variant % 11 == 5) what.axes[1].src_stride *= -1;
  if (variant % 11 == 6) what.axes[0].dst_stride *= -1;
  if (variant % 11 == 7) what.axes[what.rank - 1].dst_stride *= -1;
  return what;
}

// Any strides: dst nests, with gaps and signs; src may be broadcast, reversed, or overlap itself.
inline problem any_strides(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t extents[] = {1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 40, 64, 100, 131};
  problem what;
  what.element_bytes = element_bytes;
  what.rank = static_cast<int>(1 + roll.below(6));
  std::int64_t total = 1;
  for (int k = 0; k < what.rank; ++k) {
    std::int64_t extent = roll.of(extents);
    while (total * extent > max_elements) extent = (extent + 1) / 2;
    if (total * extent > max_elements) extent = 1;
    total *= extent;
    what.axes[k].extent = extent;
  }
  const auto nest = [&](std::int64_t axis::*stride, bool may_repeat) {
    std::array<int, max_rank> order{};
    std::iota(order.begin(), order.begin() + what.rank, 0);
    for (int k = what.rank - 1; k > 0; --k) std::swap(order[k], order[roll.below(k + 1)]);
    std::int64_t next = roll.one_in(8) ? 2 : 1;
    const bool signs = roll.one_in(3);
    const std::int64_t padding = roll.one_in(2) ? 0 : 1 + roll.below(3);
    for (int k = 0; k < what.rank; ++k) {
      axis& one = what.axes[order[k]];
      one.*stride = next;
      if (may_repeat && roll.one_in(12)) one.*stride = 0;
      if (may_repeat && roll.one_in(12)) one.*stride = 1;
      if (signs && roll.one_in(2)) one.*stride *= -1;
      next = next * one.extent + (padding != 0 && roll.one_in(2) ? padding : 0);
    }
  };
  nest(&axis::src_stride, true);
  nest(&axis::dst_stride, false);
  return what;
}

// Slices of slices, as NumPy makes them: each axis of a nest takes every `step`-th index, forwards or backwards, on src, dst or
// both. In the same order, with two axes swapped, or in any order.
inline problem any_view(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t short_extents[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 21, 33};
  constexpr std::int64_t long_extents[] = {63, 64, 65, 100, 129, 257, 515, 1030};
  constexpr std::int64_t steps[] = {1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 64, 65};
  problem what;
  what.element_bytes = element_bytes;
  what.rank = static_cast<int>(1 + roll.below(5));
  std::int64_t total = 1;
  for (int k = 0; k < what.rank; ++k) {
    std::int64_t extent = roll.one_in(3) ? roll.of(long_extents) : roll.of(short_extents);
    while (extent > 1 && total * extent > max_elements) extent = (extent + 1) / 3;
    extent = std::max<std::int64_t>(extent, 1);
    total *= extent;
    what.axes[k].extent = extent;
  }
  const bool permutes = roll.one_in(2);
  const std::int64_t sides = roll.below(4);  // 1: src is stepped, 2: dst, 3: both
  const auto nest = [&](std::int64_t axis::*stride, bool is_stepped, bool is_src) {
    std::array<int, max_rank> order{};
    for (int k = 0; k < what.rank; ++k) order[k] = what.rank - 1 - k;
    if (is_src && permutes) {
      for (int k = what.rank - 1; k > 0; --k) std::swap(order[k], order[roll.below(k + 1)]);
    }
    std::int64_t next = 1;
    for (int k = 0; k < what.rank; ++k) {
      axis& one = what.axes[order[k]];
      std::int64_t step = is_stepped && (k == 0 || roll.one_in(3)) ? roll.of(steps) : 1;
      if (next * one.extent * step > 4 * max_elements) step = 1;  // the memory that it spans stays small
      one.*stride = next * step * (roll.one_in(4) ? -1 : 1);
      next *= one.extent * step + (roll.one_in(4) ? 1 + roll.below(3) : 0);
      if (is_src && roll.one_in(10)) one.*stride = 0;
    }
  };
  nest(&axis::src_stride, (sides & 1) != 0, true);
  nest(&axis::dst_stride, (sides & 2) != 0, false);
  return what;
}

// Packed permutations of rank 3 to 6, as numpy.transpose makes them.
inline problem any_permutation(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t extents[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 33, 50};
  const int rank = static_cast<int>(3 + roll.below(4));
  std::vector<std::int64_t> shape;
  std::vector<int> axes;
  std::int64_t total = 1;
  for (int k = 0; k < rank; ++k) {
    std::int64_t extent = roll.of(extents);
    if (total * extent > max_elements) extent = 1;
    total *= extent;
    shape.push_back(extent);
    axes.push_back(k);
  }
  for (int k = rank - 1; k > 0; --k) std::swap(axes[k], axes[roll.below(k + 1)]);
  return permute_problem(shape, axes, element_bytes);
}

// Panels and groups as the plan would cut them for a problem without an end, so that their edges can be met.
inline kernels::cpu::blocking cut_of_a_large_problem(std::int64_t element_bytes, const base::machine& machine) {
  const problem large = transpose_problem(100003, 100019, element_bytes);
  const map::canonical form = map::canonicalize(large);
  const kernels::offer made = planning::choose(form, {}, machine);
  if (const kernels::cpu::blocking* const work = kernels::cpu::blocking_of(made); work != nullptr) return *work;
  return *kernels::cpu::blocking_of(planning::choose(form, {.kernel = "cpu_gather"}, machine));
}

// `thin` keeps one problem in so many, for slow builds; `more` multiplies the number of random problems.
template <class Visit>
void for_each_problem(std::int64_t element_bytes, int thin, int more, const base::machine& machine,
                      const Visit& visit) {
  std::int64_t count = 0;
  const auto give = [&](const problem& what) {
    if (++count % thin == 0) visit(what);
  };
  for (const std::int64_t rows : edges) {
    for (const std::int64_t cols : edges) {
      const std::int64_t mix = rows * 31 + cols * 17 + element_bytes;
      give(matrix(rows, cols, element_bytes, 0));
      give(matrix(rows, cols, element_bytes, mix));
      give(matrix(rows, cols, element_bytes, mix * 7 / 3));
    }
  }
  for (const std::int64_t skinny : {1, 2, 3, 4, 5, 6, 8, 13}) {
    for (const std::int64_t length : {257, 1009, 2048, 4099}) {
      give(matrix(skinny, length, element_bytes, skinny * length));
      give(matrix(length, skinny, element_bytes, skinny + length));
      give(matrix(skinny, length, element_bytes, 0));
      give(matrix(length, skinny, element_bytes, 0));
    }
  }
  for (const std::int64_t rows : {2, 3, 4, 5, 6, 8, 9, 16}) {
    for (const std::int64_t cols : {2, 3, 4, 5, 7, 8, 16, 17}) {
      const problem one = transpose_problem(rows, cols, element_bytes);
      const std::int64_t size = rows * cols;
      give(batched(one, 7 + 8 * cols, size, size));
      give(batched(one, 33, size, size + rows % 3));
      give(batched(one, 19, size + cols % 3, size));
      give(batched(one, 12, -size, size));
      give(batched(one, 12, size, -size));
      give(batched(batched(one, 5, 3 * size, size), 3, size, 5 * size));
    }
  }
  // Runs of larger items, each run at another offset from a line, so that the tables of the shuffles are made anew.
  if (element_bytes <= 4) {
    const std::int64_t rows = 188 / element_bytes, size = 3 * rows;
    give(batched(batched(transpose_problem(rows, 3, element_bytes), 30, size, size), 5, 30 * size, 30 * size + 1));
  }
  // Short axes that alternate: the last axis of dst is the last but one of src.
  for (const std::int64_t inner : {2, 3, 4, 8}) {
    for (const std::int64_t last : {2, 3, 7}) {
      problem what =
          permute_problem(std::vector<std::int64_t>{70, 12, inner, last}, std::vector<int>{1, 3, 0, 2}, element_bytes);
      give(what);
      what.axes[2].src_stride += inner;  // rows of src are apart
      give(what);
    }
  }
  // Contiguous runs of a few lines each, with and without whole strips and blocks.
  for (const std::int64_t lines : {1, 2, 3, 4}) {
    const std::int64_t rows = std::max<std::int64_t>(1, lines * 64 / element_bytes);
    for (const std::int64_t cols : {7, 16, 33, 64, 129}) {
      give(batched(transpose_problem(rows, cols, element_bytes), 3, rows * cols, rows * cols));
      give(batched(transpose_problem(rows, cols, element_bytes), 3, rows * cols + 5, rows * cols + lines));
      give(matrix(rows + 1, cols, element_bytes, 0));
    }
  }
  // Any small number of columns, with rows that are one run or several.
  for (const std::int64_t cols : {2, 3, 4, 6, 7, 9, 10, 12, 15, 20, 24, 31, 63}) {
    const std::int64_t rows = 1024 / element_bytes + cols;
    give(batched(transpose_problem(rows, cols, element_bytes), 2, rows * cols, rows * cols + cols % 3));
    give(matrix(rows, cols, element_bytes, 7 * cols));
    problem image =
        permute_problem(std::vector<std::int64_t>{5, 40 + cols, cols}, std::vector<int>{2, 0, 1}, element_bytes);
    give(image);
    image.axes[1].src_stride += cols % 4;
    give(image);
    give(transpose_problem(cols, 9000 / element_bytes + cols, element_bytes));  // and few rows
  }
  // Runs long enough for windows in their middle, at every phase, and runs that start in one slice of the cache.
  for (const std::int64_t lines : {9, 10, 16}) {
    const std::int64_t rows = lines * 64 / element_bytes;
    give(transpose_problem(rows, 134, element_bytes, 0, (rows + 511) / 512 * 512));
    give(transpose_problem(rows, 67, element_bytes, 71, rows + 1));
    give(transpose_problem(rows + 3, 130, element_bytes));
  }
  // Overlapping windows along a row, or down the rows: several axes of one src stride.
  const auto give_axes = [&](std::initializer_list<axis> axes) {
    problem what{.element_bytes = element_bytes, .rank = static_cast<int>(axes.size())};
    std::copy(axes.begin(), axes.end(), what.axes.begin());
    give(what);
  };
  for (const std::int64_t windows : {2, 5, 36}) {
    for (const std::int64_t rows : {24, 36, 130}) {
      const std::int64_t cols = 100 - windows, pitch = 100, size = rows * cols;
      const axis row{rows, pitch, 1};
      give_axes({{windows, 1, rows}, {cols, 1, windows * rows}, row});
      give_axes({{cols, 1, rows}, {windows, 1, size}, row});
      give_axes({{windows, 1, 1}, {cols, 1, windows * rows}, {rows, pitch, windows}});
      give_axes({{windows, pitch, rows}, {cols, 1, windows * rows}, row});
      give_axes({{3, 1, 1}, {windows, 1, 3 * size}, {cols, 3, 3 * rows}, {rows, 3 * pitch, 3}});
    }
  }
  // Alternating short axes: bits of an index, and other extents, interleaved in another order.
  for (const std::int64_t base : {2, 3}) {
    for (const int step : {2, 3, 5}) {
      const int rank = base == 2 ? 13 : 8;
      std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), base);
      shape[0] = 5;
      std::vector<int> axes;
      for (int first = 0; first < step; ++first) {
        for (int k = step - 1 - first; k < rank; k += step) axes.push_back(k);
      }
      give(permute_problem(shape, axes, element_bytes));
      problem padded = permute_problem(shape, axes, element_bytes);
      padded.axes[0].dst_stride += step;
      for (int k = 0; k < rank; ++k) padded.axes[k].src_stride *= padded.axes[k].src_stride >= 64 ? -1 : 1;
      give(padded);
    }
  }
  const kernels::cpu::blocking cut = cut_of_a_large_problem(element_bytes, machine);
  for (const std::int64_t near : {-1, 0, 1}) {
    for (const std::int64_t rows : {3, 8, 19, 34}) {
      give(matrix(rows, cut.panel + near, element_bytes, rows));
      give(matrix(rows, 2 * cut.panel + near, element_bytes, 0));
    }
    for (const std::int64_t cols : {2, 3, 5, 8, 17, 70}) {
      give(matrix(cut.group + near, cols, element_bytes, cols));
      give(matrix(3 * cut.group + near, cols, element_bytes, cols * 3));
    }
  }
  dice roll(static_cast<std::uint64_t>(element_bytes));
  for (int k = 0; k < 150 * more; ++k) give(any_permutation(roll, element_bytes, 40000 / element_bytes + 600));
  for (int k = 0; k < 300 * more; ++k) give(any_strides(roll, element_bytes, 20000 / element_bytes + 600));
  for (int k = 0; k < 250 * more; ++k) give(any_view(roll, element_bytes, 20000 / element_bytes + 600));
}

}  // namespace cornerturn::testing
