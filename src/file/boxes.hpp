// The array of a file as few axes, and its boxes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cornerturn/file.hpp"
#include "cornerturn/problem.hpp"
#include "map/canonical.hpp"

namespace cornerturn::files {

// An array and its permutation. Both sides are packed and row-major: the strides follow from the extents.
struct permuted {
  int rank = 0;
  std::array<std::int64_t, map::max_axes> extents{};  // in the order of dst, slowest first
  std::array<int, map::max_axes> axes{};              // of src, for each axis of dst; axis 0 of src is its slowest
  std::int64_t element_bytes = 1;
  friend bool operator==(const permuted&, const permuted&) = default;
};

[[nodiscard]] std::int64_t bytes_of(const permuted& what) noexcept;

// Effect  checks the array, folds it and returns its canonical form. Elements become the words of map::canonicalize
// Errors  invalid_argument, overflow: as plan_stored
[[nodiscard]] permuted folded(const stored_array& what);

// Effect  checks the array and keeps its axes, for stores of boxes
// Errors  invalid_argument: also for a Fortran order
[[nodiscard]] permuted unfolded(const stored_array& what);

// The boxes of dst, or the parts of a box, numbered in the order of dst or of src.
class box_grid {
 public:
  using index = std::array<std::int64_t, map::max_axes>;

  struct piece {
    index first{};    // in the order of dst
    index extents{};  // clipped at the upper edges
  };

  // Requires  1 <= box[k] <= extents[k]
  box_grid(std::span<const std::int64_t> extents, std::span<const std::int64_t> box) noexcept;

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] piece at(std::int64_t number) const noexcept;  // the last axis is the fastest
  // Effect  the axis order[0] is the slowest
  [[nodiscard]] piece at(std::int64_t number, std::span<const int> order) const noexcept;

 private:
  std::size_t rank_;
  index extents_{};
  index box_{};
  std::int64_t count_ = 1;
};

}  // namespace cornerturn::files
