// Splits the transpose of a file into boxes that fit a buffer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cornerturn/problem.hpp"

namespace cornerturn::cli {

// Effect  returns the problem that permutes a C- or Fortran-ordered array of `shape` into C order, with as few axes as
//         possible: extent-1 axes are dropped, and adjacent axes that are contiguous on both sides are folded.
//         Axes are in the order of dst, slowest first, and dst is packed.
// Errors  failure: more than max_rank axes remain
[[nodiscard]] problem file_problem(std::span<const std::int64_t> shape, bool fortran_order, std::span<const int> axes,
                                   std::int64_t element_bytes);

// Effect  returns the extents of the box, one for each axis of `whole`: about target_bytes at most
[[nodiscard]] std::vector<std::int64_t> choose_box(const problem& whole, std::int64_t target_bytes);

// The boxes of a problem, numbered in the order of dst.
class box_grid {
 public:
  box_grid(const problem& whole, std::vector<std::int64_t> box);

  struct piece {
    problem what;             // dst is the packed box
    std::int64_t src_offset;  // offset of the first element, in elements
    std::int64_t dst_offset;
    std::int64_t run;  // elements that are contiguous both in the box and in dst
  };

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t buffer_bytes() const noexcept;  // of the largest box
  [[nodiscard]] piece at(std::int64_t index) const;

  // Effect  returns the offset in dst, in elements, of the run with this number
  [[nodiscard]] std::int64_t run_offset(const piece& one, std::int64_t run_index) const;

 private:
  problem whole_;
  std::vector<std::int64_t> box_;
  std::int64_t count_ = 1;
  int run_axes_ = 0;  // trailing axes that make up a run
};

}  // namespace cornerturn::cli
