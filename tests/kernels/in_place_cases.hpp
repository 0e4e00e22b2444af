// Systematic and random problems in place, and their memory.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "cases.hpp"
#include "oracle.hpp"

namespace cornerturn::testing {

inline problem placed(problem what) {
  what.in_place = true;
  return what;
}

// Pairs of swapped axes among fixed axes, of any strides and signs.
inline problem any_involution(dice& roll, std::int64_t element_bytes, std::int64_t max_elements) {
  constexpr std::int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 70, 127, 128, 129, 140};
  constexpr std::int64_t stays[] = {1, 2, 3, 5, 8, 17};
  problem what{.element_bytes = element_bytes, .in_place = true};
  const auto pairs = static_cast<int>(1 + roll.below(roll.one_in(3) ? 3 : 1));
  const auto fixed = static_cast<int>(roll.below(3));
  std::int64_t room = max_elements;
  for (int k = 0; k < pairs; ++k) {
    std::int64_t extent = roll.of(extents);
    while (extent * extent > room) extent = (extent + 1) / 2 - (extent == 1 ? 1 : 0);
    extent = std::max<std::int64_t>(extent, 1);
    room /= extent * extent;
    what.axes[what.rank++].extent = extent;
    what.axes[what.rank++].extent = extent;
  }
  for (int k = 0; k < fixed; ++k) {
    what.axes[what.rank].extent = std::max<std::int64_t>(std::min(roll.of(stays), room), 1);
    room /= what.axes[what.rank++].extent;
  }
  std::array<int, max_rank> order{};
  for (int k = 0; k < what.rank; ++k) order[k] = k;
  // Half of them in the order of matrices: a column axis innermost, all others in any order.
  for (int k = what.rank - 1; k > (roll.one_in(2) ? 1 : 0); --k) std::swap(order[k], order[roll.below(k + 1)]);
  std::int64_t next = roll.one_in(8) ? 2 : 1;
  const bool gaps = roll.one_in(2);
  std::array<std::int64_t, max_rank> stride{};
  for (int k = 0; k < what.rank; ++k) {
    stride[order[k]] = next;
    next = next * what.axes[order[k]].extent + (gaps && roll.one_in(2) ? roll.below(20) : 0);
  }
  for (int k = 0; k < 2 * pairs; ++k) {
    if (roll.one_in(10)) stride[k] *= -1;
  }
  for (int k = 0; k < what.rank; ++k) {
    const int other = k < 2 * pairs ? k ^ 1 : k;
    what.axes[k].src_stride = stride[k];
    what.axes[k].dst_stride = stride[other];
  }
  std::array<axis, max_rank> shuffled = what.axes;
  for (int k = what.rank - 1; k > 0; --k) std::swap(shuffled[k], shuffled[roll.below(k + 1)]);
  what.axes = shuffled;
  return what;
}

// A packed rectangle, or several of them, with or without gaps between them.
inline problem rectangle_of(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes, std::int64_t variant) {
  problem what = transpose_problem(rows, cols, element_bytes);
  const std::int64_t size = rows * cols;
  if (variant % 4 == 1) what = batched(what, 5, size, size);
  if (variant % 4 == 2) what = batched(what, 3, size + 7, size + 7);
  if (variant % 8 == 3) what = batched(batched(what, 3, size, size), 2, -(3 * size + 1), -(3 * size + 1));
  return placed(what);
}

// The memory of one problem in place: guards on both sides, gaps between the elements, and the expected contents.
class one_memory {
 public:
  one_memory(const problem& what, std::size_t misalignment)
      : range_(range_of(what, &axis::src_stride)),
        begin_(guard + misalignment),
        bytes_(begin_ + range_.size() + guard) {
    found_ = lines(bytes_);
    wanted_ = lines(bytes_);
    std::memcpy(wanted_.get(), pattern(bytes_), bytes_);
    const std::int64_t origin = static_cast<std::int64_t>(begin_) - range_.lo;
    move_by_definition(what, pattern(bytes_) + origin, wanted_.get() + origin);
    fill();
  }

  void fill() { std::memcpy(found_.get(), pattern(bytes_), bytes_); }
  [[nodiscard]] std::byte* data() { return found_.get() + begin_ - range_.lo; }
  [[nodiscard]] std::string difference() const {
    if (std::memcmp(found_.get(), wanted_.get(), bytes_) == 0) return "";
    std::size_t k = 0;
    while (found_.get()[k] == wanted_.get()[k]) ++k;
    return "byte " + std::to_string(static_cast<std::int64_t>(k) - static_cast<std::int64_t>(begin_) + range_.lo) +
           " is wrong";
  }

 private:
  static constexpr std::size_t guard = 256;
  byte_range range_;
  std::size_t begin_;
  std::size_t bytes_;
  heap_memory found_;
  heap_memory wanted_;
};

}  // namespace cornerturn::testing
