// Selects the axes of a box that fits shared memory: long runs of src addresses and long lines of dst addresses.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

// The axes of a run, or of a line, fastest first. All but the last are whole.
struct box_walk {
  std::int64_t axis::*stride;
  std::array<int, max_box_axes> axes{};
  int count = 0;
  [[nodiscard]] bool has(int k) const noexcept {
    return std::find(axes.begin(), axes.begin() + count, k) != axes.begin() + count;
  }
  void add(int k) noexcept { axes[count++] = k; }
};

// Which axes continue the runs and the lines of a box.
struct continuations {
  bool descending_run = true;  // with negative strides
  bool descending_line = true;
  // A run of at most so many elements goes on over a gap, to an axis whose stride is at most twice as many: the gap is staged with
  // the elements. 0: runs have no gaps.
  std::int64_t bridged = 0;
};

class box_axes {
 public:
  box_axes(const map::canonical& form, std::int64_t most_elements, continuations allowed = {}) noexcept
      : form_(form), most_(most_elements), allowed_(allowed) {
    tile_.fill(1);
  }

  // Extends runs up to `run_side` elements and lines up to `line_side` alternately, so that neither takes all of shared
  // memory. Then it extends lines and runs further, and last it adds axes that are in neither.
  void grow(std::int64_t run_side, std::int64_t line_side) noexcept;
  void grow(std::int64_t side) noexcept { grow(side, side); }
  // Makes the tiles of each axis that is cut equally long, so that the last one is not nearly empty. Only `run` and
  // `line` may be cut.
  void even_out() noexcept;
  // Lets a line of at most `most_elements` go on over axes that are in the box anyway. Returns true if it does.
  bool lengthen_line(std::int64_t most_elements) noexcept;

  [[nodiscard]] const map::canonical& form() const noexcept { return form_; }
  [[nodiscard]] const box_walk& run() const noexcept { return run_; }
  [[nodiscard]] const box_walk& line() const noexcept { return line_; }
  [[nodiscard]] std::int64_t tile(int k) const noexcept { return tile_[k]; }
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  [[nodiscard]] std::int64_t elements(const box_walk& one) const noexcept {
    std::int64_t product = 1;
    for (int k = 0; k < one.count; ++k) product *= tile_[one.axes[k]];
    return product;
  }
  [[nodiscard]] bool whole(int k) const noexcept { return tile_[k] == form_.axes[k].extent; }
  [[nodiscard]] bool contiguous(const box_walk& one) const noexcept;
  // The axes of the box in the order of `first`, then the others. The axis that the grid may cut comes last.
  [[nodiscard]] box_walk whole_order(const box_walk& first) const noexcept;
  // The axis that the grid cuts: of runs, or else one in neither; -1: none.
  [[nodiscard]] int cut_of_run() const noexcept;
  // The axis of lines that the grid cuts, if it is not cut_of_run(); -1: none.
  [[nodiscard]] int cut_of_line() const noexcept;
  [[nodiscard]] bool line_is_cut() const noexcept { return cut(line_); }
  // True if more axes continue the lines, for which a line or the box has no room.
  [[nodiscard]] bool line_goes_on() const noexcept { return !cut(line_) && next(line_) >= 0; }

 private:
  void set_tile(int k, std::int64_t indices) noexcept {
    elements_ = elements_ / tile_[k] * indices;
    tile_[k] = indices;
  }
  [[nodiscard]] bool cut(const box_walk& one) const noexcept {
    return one.count > 0 && !whole(one.axes[one.count - 1]);
  }
  [[nodiscard]] int next(const box_walk& one) const noexcept;
  // Indices of the cut axis whose bytes are whole sectors.
  [[nodiscard]] std::int64_t sector_step(const box_walk& one) const noexcept;
  void extend(box_walk& one, std::int64_t target) noexcept;

  const map::canonical& form_;
  std::int64_t most_;
  continuations allowed_;
  std::array<std::int64_t, map::max_axes> tile_{};
  std::int64_t elements_ = 1;  // the product of all tiles
  box_walk run_{&axis::src_stride};
  box_walk line_{&axis::dst_stride};
  std::array<int, max_box_axes> other_{};
  int others_ = 0;
  bool other_is_cut_ = false;
};

}  // namespace cornerturn::gpu
