// Packed rectangles in place, on a GPU and on the CPU: the steps of a program. By rows, cut into M pieces of a rows each
// and r over; n columns, s of them over:
//   1. the s columns, and the r rows of the others, are turned into the workspace
//   2. strips of a rows are turned out of place, each into the room of the one behind it, whose own has moved before.
//      The last one begins, and stays in the workspace.
//      Columns of strips are items of a elements now, and lie where items of the result lie: M of them, a gap of r
//      elements, M more, and so on
//                      result  |0a|0b|0c|r||1a|1b|1c|r||2a|2b|2c|r|     strips a, b, c of columns 0, 1, 2
//                     between  |0c|1c|2c| ||0a|1a|2a| ||0b|1b|2b| |
//   3. items follow cycles; those of the last strip begin in the workspace
//   4. what waited in the workspace is copied: r elements to each gap, and the s columns as rows to the end
// With many columns over, and few rows, room grows faster at the other end: then the strips go the other way.
// By columns: the same backwards, every move the other way round.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "kernels/cpu/cycles/args.hpp"
#include "plan/cutting.hpp"

namespace cornerturn::planning {

struct rectangle {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t element;  // bytes
  [[nodiscard]] std::int64_t bytes() const noexcept { return rows * cols * element; }
};

struct in_place_step {
  int move = 0;                 // its number among those of the program
  bool from_workspace = false;  // else from the array
  bool to_workspace = false;
  std::int64_t from = 0;  // bytes from the begin of the array, or of the workspace
  std::int64_t to = 0;
  std::int64_t flags_at = 0;  // from the begin of the workspace; on a GPU
};

// Moves as by rows; backwards they are the other way round, last one first. A builder has
//   move(problem, steps)    the same move from and to one or more places, in order
//   follow(items)           cycles
template <class Builder>
class strips {
 public:
  strips(const rectangle& all, const cutting& cut)
      : cut_(cut),
        element_(all.element),
        side_(cut.by_rows ? all.rows : all.cols),
        other_(cut.by_rows ? all.cols : all.rows),
        in_(workspace_of(cut, all.element)),
        single_(cut.rest == 0 || cut.kept < cut.pieces),
        up_(cut.rest * (cut.kept / cut.pieces) < cut.over * cut.length) {}

  void build(Builder& make) const {
    const std::array<void (strips::*)(Builder&) const, 4> before = {&strips::columns_over, &strips::rows_over,
                                                                    &strips::first_strip, &strips::other_strips};
    const std::array<void (strips::*)(Builder&) const, 2> behind = {&strips::fill_gaps, &strips::last_rows};
    if (cut_.by_rows) {
      for (const auto one : before) (this->*one)(make);
      follow(make);
      for (const auto one : behind) (this->*one)(make);
    } else {
      for (std::size_t k = behind.size(); k-- > 0;) (this->*behind[k])(make);
      follow(make);
      for (std::size_t k = before.size(); k-- > 0;) (this->*before[k])(make);
    }
  }

 private:
  // 1.
  void columns_over(Builder& make) const {
    give(make, {{cut_.over, 1, side_}, {side_, other_, 1}},
         {{.to_workspace = true, .from = cut_.kept * element_, .to = in_.over_at}});
  }
  void rows_over(Builder& make) const {
    give(make, {{cut_.kept, 1, cut_.rest}, {cut_.rest, other_, 1}},
         {{.to_workspace = true, .from = strip(cut_.pieces), .to = in_.rest_at}});
  }
  // 2.
  void first_strip(Builder& make) const {
    give(make, {{cut_.kept, 1, cut_.length}, {cut_.length, other_, 1}},
         {{.to_workspace = true, .from = strip(up_ ? 0 : cut_.pieces - 1), .to = in_.strip_at}});
  }
  void other_strips(Builder& make) const {
    std::vector<in_place_step> steps;
    for (std::int64_t k = 1; k < cut_.pieces; ++k) {
      const std::int64_t from = up_ ? k : cut_.pieces - 1 - k;
      steps.push_back({.from = strip(from), .to = room(up_ ? from - 1 : from + 1)});
    }
    if (!cut_.by_rows) std::reverse(steps.begin(), steps.end());
    if (single_) {
      give(make, {{cut_.kept, 1, cut_.length}, {cut_.length, other_, 1}}, steps);
    } else {
      give(make,
           {{cut_.kept / cut_.pieces, cut_.pieces, side_}, {cut_.pieces, 1, cut_.length}, {cut_.length, other_, 1}},
           steps);
    }
  }
  // 3.
  void follow(Builder& make) const {
    kernels::item_cycles items;
    items.row_bytes = side_ * element_;
    items.row_places = cut_.pieces;
    items.inner = cut_.by_rows ? cut_.kept : cut_.pieces;
    items.outer = cut_.by_rows ? cut_.pieces : cut_.kept;
    if (cut_.by_rows) items.rotated_outer = up_ ? 1 : cut_.pieces - 1;
    if (!cut_.by_rows) items.rotated_inner = up_ ? cut_.pieces - 1 : 1;
    items.first_away = up_ ? (cut_.pieces - 1) * cut_.kept : 0;
    items.count_away = cut_.kept;
    items.writes_away = !cut_.by_rows;
    items.away_at = in_.strip_at;
    items.flags_at = in_.flags_at;
    make.follow(items, cut_.length * element_);
  }
  // 4.
  void fill_gaps(Builder& make) const {
    give(make, {{cut_.kept, cut_.rest, side_}, {cut_.rest, 1, 1}},
         {{.from_workspace = true, .from = in_.rest_at, .to = cut_.pieces * cut_.length * element_}});
  }
  void last_rows(Builder& make) const {
    give(make, {{cut_.over * side_, 1, 1}},
         {{.from_workspace = true, .from = in_.over_at, .to = cut_.kept * side_ * element_}});
  }

  [[nodiscard]] std::int64_t strip(std::int64_t k) const { return k * cut_.length * other_ * element_; }
  // Where the places that strip k's items take begin: strip 0's first.
  [[nodiscard]] std::int64_t room(std::int64_t k) const {
    const std::int64_t place = k * cut_.kept;
    return (place / cut_.pieces * side_ + place % cut_.pieces * cut_.length) * element_;
  }
  void give(Builder& make, std::initializer_list<axis> axes, std::vector<in_place_step> steps) const {
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
  waiting in_;
  bool single_;  // the places of a strip lie end to end
  bool up_;      // each strip goes to the room of the one before it, the first one begins
};

}  // namespace cornerturn::planning
