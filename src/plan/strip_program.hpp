// The steps that transpose a packed rectangle in place, on a GPU and on the CPU. The rows are cut into `pieces` of `length`
// rows each; `rest` rows are left. Of the columns, `kept` fill rows of slots; `over` are left: see cut_side in cutting.cpp.
//   1. the columns over, and the rest rows of the kept columns, are transposed into the workspace
//   2. a strip is one piece of the kept columns. The last strip is transposed into the workspace. Then each strip is
//      transposed over the strip behind it, which has been read. A column of a strip is an item of `length` elements, in a
//      slot of the result: `pieces` slots are followed by a gap of `rest` elements, r
//                      result  |0A|0B|0C|r||1A|1B|1C|r||2A|2B|2C|r|     strips A, B, C of columns 0, 1, 2
//                     between  |0C|1C|2C| ||0A|1A|2A| ||0B|1B|2B| |
//   3. items follow the cycles of a permutation; the items of the last strip start in the workspace
//   4. the workspace is copied back: the rest elements to each gap, and the columns over as rows to the end
//
// If strips have a larger step in src than in dst, the order is reversed: the first strip is transposed into the
// workspace, and each strip over the one before it. By columns, the inverse steps run in the opposite order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "kernels/in_place_steps.hpp"
#include "plan/cutting.hpp"

namespace cornerturn::planning {

struct rectangle {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t element;  // bytes
  [[nodiscard]] std::int64_t bytes() const noexcept { return rows * cols * element; }
};

struct in_place_step {
  int move = 0;                 // its index in `moves`, which all programs share
  bool from_workspace = false;  // else from the array
  bool to_workspace = false;
  std::int64_t from = 0;  // byte offset in the array, or in the workspace
  std::int64_t to = 0;
  std::int64_t flags_at = 0;  // byte offset in the workspace
  // On the CPU: so many bytes are 0 before the step, from the next multiple of 8 bytes on.
  std::int64_t flags_bytes = 0;
};

// Passes the steps to a builder, which has
//   move(problem, steps)    adds one step or more, in order: each copies the problem from and to its own offsets
//   follow(items)           adds a step of cycles
template <class Builder>
class strip_program {
 public:
  strip_program(const rectangle& all, const cutting& cut)
      : cut_(cut),
        element_(all.element),
        side_(cut.by_rows ? all.rows : all.cols),
        other_(cut.by_rows ? all.cols : all.rows),
        at_(workspace_of(cut, all.element)),
        single_(cut.rest == 0 || cut.kept < cut.pieces),
        upwards_(cut.rest * (cut.kept / cut.pieces) < cut.over * cut.length) {}

  void build(Builder& make) const {
    const std::array<void (strip_program::*)(Builder&) const, 4> first_steps = {
        &strip_program::columns_over, &strip_program::rest_rows, &strip_program::strip_to_workspace,
        &strip_program::strips_over_strips};
    const std::array<void (strip_program::*)(Builder&) const, 2> last_steps = {&strip_program::fill_gaps,
                                                                               &strip_program::last_rows};
    if (cut_.by_rows) {
      for (const auto one : first_steps) (this->*one)(make);
      follow(make);
      for (const auto one : last_steps) (this->*one)(make);
    } else {
      for (std::size_t k = last_steps.size(); k-- > 0;) (this->*last_steps[k])(make);
      follow(make);
      for (std::size_t k = first_steps.size(); k-- > 0;) (this->*first_steps[k])(make);
    }
  }

 private:
  // 1.
  void columns_over(Builder& make) const {
    add(make, {{cut_.over, 1, side_}, {side_, other_, 1}},
        {{.to_workspace = true, .from = cut_.kept * element_, .to = at_.over_at}});
  }
  void rest_rows(Builder& make) const {
    add(make, {{cut_.kept, 1, cut_.rest}, {cut_.rest, other_, 1}},
        {{.to_workspace = true, .from = src_of(cut_.pieces), .to = at_.rest_at}});
  }
  // 2.
  void strip_to_workspace(Builder& make) const {
    add(make, {{cut_.kept, 1, cut_.length}, {cut_.length, other_, 1}},
        {{.to_workspace = true, .from = src_of(upwards_ ? 0 : cut_.pieces - 1), .to = at_.strip_at}});
  }
  void strips_over_strips(Builder& make) const {
    std::vector<in_place_step> steps;
    for (std::int64_t k = 1; k < cut_.pieces; ++k) {
      const std::int64_t from = upwards_ ? k : cut_.pieces - 1 - k;
      steps.push_back({.from = src_of(from), .to = dst_of(upwards_ ? from - 1 : from + 1)});
    }
    if (!cut_.by_rows) std::reverse(steps.begin(), steps.end());
    if (single_) {
      add(make, {{cut_.kept, 1, cut_.length}, {cut_.length, other_, 1}}, steps);
    } else {
      add(make,
          {{cut_.kept / cut_.pieces, cut_.pieces, side_}, {cut_.pieces, 1, cut_.length}, {cut_.length, other_, 1}},
          steps);
    }
  }
  // 3.
  void follow(Builder& make) const {
    kernels::item_cycles items;
    items.item_bytes = cut_.length * element_;
    items.row_bytes = side_ * element_;
    items.row_slots = cut_.pieces;
    items.inner = cut_.by_rows ? cut_.kept : cut_.pieces;
    items.outer = cut_.by_rows ? cut_.pieces : cut_.kept;
    if (cut_.by_rows) items.rotated_outer = upwards_ ? 1 : cut_.pieces - 1;
    if (!cut_.by_rows) items.rotated_inner = upwards_ ? cut_.pieces - 1 : 1;
    items.first_in_workspace = upwards_ ? (cut_.pieces - 1) * cut_.kept : 0;
    items.count_in_workspace = cut_.kept;
    items.writes_workspace = !cut_.by_rows;
    items.workspace_at = at_.strip_at;
    items.flags_at = at_.flags_at;
    make.follow(items);
  }
  // 4.
  void fill_gaps(Builder& make) const {
    add(make, {{cut_.kept, cut_.rest, side_}, {cut_.rest, 1, 1}},
        {{.from_workspace = true, .from = at_.rest_at, .to = cut_.pieces * cut_.length * element_}});
  }
  void last_rows(Builder& make) const {
    add(make, {{cut_.over * side_, 1, 1}},
        {{.from_workspace = true, .from = at_.over_at, .to = cut_.kept * side_ * element_}});
  }

  [[nodiscard]] std::int64_t src_of(std::int64_t k) const { return k * cut_.length * other_ * element_; }
  // The offset of the first slot of strip k's items.
  [[nodiscard]] std::int64_t dst_of(std::int64_t k) const {
    const std::int64_t slot = k * cut_.kept;
    return (slot / cut_.pieces * side_ + slot % cut_.pieces * cut_.length) * element_;
  }
  void add(Builder& make, std::initializer_list<axis> axes, std::vector<in_place_step> steps) const {
    problem what{.element_bytes = element_, .rank = 0};
    for (const axis& one : axes) {
      if (one.extent == 0) return;
      what.axes[what.rank++] = cut_.by_rows ? one : axis{one.extent, one.dst_stride, one.src_stride};
    }
    for (in_place_step& one : steps) {
      if (cut_.by_rows) continue;
      std::swap(one.from, one.to);
      std::swap(one.from_workspace, one.to_workspace);
    }
    make.move(what, steps);
  }

  cutting cut_;
  std::int64_t element_, side_, other_;
  workspace_offsets at_;
  bool single_;   // the slots of a strip are contiguous
  bool upwards_;  // the order of step 2 is reversed
};

}  // namespace cornerturn::planning
