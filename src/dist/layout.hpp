// The overlay of two layouts: which elements go from which cell to which, computed without data.
//   1. an axis: the intervals of both layouts are merged into segments. A segment is in one interval of each side
//   2. the segments of each pair (coordinate in src, coordinate in dst) are sorted by position; adjacent ones are joined
//   3. segments at equal distances become one progression: a block-cyclic axis has a few of them, not one for each block
//   4. a pair of cells exchanges the product of the progressions of its axes. One product is an entry: a problem of at most two
//      axes for each axis of the array
// The cost is the number of intervals and of pairs of one rank, not the number of ranks squared.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cornerturn/dist.hpp"

namespace cornerturn::distributed {

// Errors  invalid_argument, always
[[noreturn]] void refuse(const std::string& sentence);

// `count` segments of `length` elements of one axis. Segment k begins at src_at + k * src_step in the block of src, and at
// dst_at + k * dst_step in the block of dst.
struct progression {
  std::int64_t count = 1, length = 0;
  std::int64_t src_at = 0, src_step = 0;
  std::int64_t dst_at = 0, dst_step = 0;
  friend bool operator==(const progression&, const progression&) = default;
};

// Returns  the segments as progressions. Requires segments with count 1 in increasing order
[[nodiscard]] std::vector<progression> compressed(std::span<const progression> segments);

// One product of progressions. Axes are in the order of dst.
struct entry {
  int rank = 0;
  std::array<progression, dist::max_rank> axes{};
  [[nodiscard]] std::int64_t elements() const noexcept;
};

// The elements that one cell of src sends to one cell of dst.
struct link {
  std::int64_t src_cell = 0, dst_cell = 0;
  std::int32_t src_rank = 0, dst_rank = 0;
  std::int64_t elements = 0;
  std::array<std::span<const progression>, dist::max_rank> axes{};  // in the order of dst; memory of the overlay
};

// Effect  calls each(entry) for each product of the link, always in one order
void for_each_entry(const link& all, int rank, const std::function<void(const entry&)>& each);

// Errors  invalid_argument: a layout contradicts itself, or its extents are not the wanted ones; the sentence begins with `name`
void check_layout(const dist::layout& all, std::span<const std::int64_t> extents, const char* name);
// Returns  the numbers of the cells that a rank owns, in increasing order
[[nodiscard]] std::vector<std::int64_t> cells_of(const dist::layout& all, int rank);
// Returns  the elements along an axis of each coordinate's block
[[nodiscard]] std::vector<std::int64_t> lengths_of(const dist::axis_layout& axis);
[[nodiscard]] std::vector<std::int64_t> block_extents(const dist::layout& all, std::int64_t cell);

class overlay {
 public:
  // Requires  extents and axes are a permutation that permute_problem accepts, with at most dist::max_rank axes
  // Errors  as check_layout, of both layouts
  explicit overlay(const dist::problem& what);

  // Returns  the links with elements that begin, or end, at the cells of a rank, ordered by (src_cell, dst_cell)
  [[nodiscard]] std::vector<link> sent_by(int rank) const;
  [[nodiscard]] std::vector<link> received_by(int rank) const;
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  struct bucket {
    std::int32_t src = 0, dst = 0;  // coordinates
    std::vector<progression> runs;
    std::int64_t elements = 0;
  };
  struct axis_overlay {
    std::vector<bucket> buckets;                     // ordered by (src, dst)
    std::vector<std::vector<std::size_t>> from, to;  // the buckets of each coordinate in src, and in dst
  };
  static axis_overlay merged(const dist::axis_layout& src, const dist::axis_layout& dst);
  [[nodiscard]] std::vector<link> links_of(int rank, bool sent) const;

  int rank_ = 0;
  std::array<int, dist::max_rank> axes_{};
  std::array<axis_overlay, dist::max_rank> along_;  // in the order of dst
  dist::layout src_, dst_;                          // without intervals: cells and owners
};

}  // namespace cornerturn::distributed
