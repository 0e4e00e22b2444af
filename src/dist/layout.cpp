#include "dist/layout.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "base/checked.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::distributed {

std::int64_t entry::elements() const noexcept {
  std::int64_t all = 1;
  for (int k = 0; k < rank; ++k) all *= axes[k].count * axes[k].length;
  return all;
}

// 3. Progressions. A pattern of a few segments may repeat, as when block sizes of 64 and 96 meet: the period with the fewest
// progressions for its segments is taken.
std::vector<progression> compressed(std::span<const progression> segments) {
  constexpr std::size_t longest_period = 32;
  std::vector<progression> found;
  const auto continues = [&](std::size_t first, std::size_t period, std::size_t at) {
    const progression &a = segments[first], &b = segments[first + period], &c = segments[at - period],
                      &d = segments[at];
    return d.length == c.length && d.src_at - c.src_at == b.src_at - a.src_at &&
           d.dst_at - c.dst_at == b.dst_at - a.dst_at;
  };
  for (std::size_t first = 0; first < segments.size();) {
    std::size_t best = 1, reach = 1;
    for (std::size_t period = 1; period <= longest_period && first + period < segments.size(); ++period) {
      std::size_t end = first + period;
      while (end < segments.size() && continues(first, period, end)) ++end;
      const std::size_t covered = end - first;
      if (covered >= 2 * period && covered * best > reach * period) best = period, reach = covered;
    }
    for (std::size_t k = 0; k < best; ++k) {
      progression made = segments[first + k];
      made.count = static_cast<std::int64_t>((reach - k + best - 1) / best);
      if (made.count > 1) {
        made.src_step = segments[first + k + best].src_at - made.src_at;
        made.dst_step = segments[first + k + best].dst_at - made.dst_at;
      }
      found.push_back(made);
    }
    first += reach;
  }
  return found;
}

void for_each_entry(const link& all, int rank, const std::function<void(const entry&)>& each) {
  entry one;
  one.rank = rank;
  std::array<std::size_t, dist::max_rank> at{};
  for (;;) {
    for (int k = 0; k < rank; ++k) one.axes[k] = all.axes[k][at[k]];
    each(one);
    int k = rank - 1;
    while (k >= 0 && ++at[k] == all.axes[k].size()) at[k--] = 0;
    if (k < 0) return;
  }
}

void refuse(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

namespace {

void check_axis(const dist::axis_layout& axis, std::int64_t extent, const std::string& name) {
  const std::size_t intervals = axis.coordinates.size();
  if (axis.splits.size() != intervals + 1) {
    refuse(name + " has " + std::to_string(axis.splits.size()) + " splits and " + std::to_string(intervals) +
           " coordinates, wanted one coordinate for each interval");
  }
  if (axis.splits.front() != 0 || axis.splits.back() != extent) {
    refuse(name + " has splits from " + std::to_string(axis.splits.front()) + " to " +
           std::to_string(axis.splits.back()) + ", wanted 0 to " + std::to_string(extent));
  }
  for (std::size_t k = 0; k < intervals; ++k) {
    if (axis.splits[k + 1] < axis.splits[k]) {
      refuse(name + " has split " + std::to_string(axis.splits[k + 1]) + " after " + std::to_string(axis.splits[k]) +
             ", wanted splits that never decrease");
    }
    if (axis.coordinates[k] < 0 || axis.coordinates[k] >= axis.cells) {
      refuse(name + " has coordinate " + std::to_string(axis.coordinates[k]) + ", wanted 0 <= coordinate < " +
             std::to_string(axis.cells));
    }
  }
}

}  // namespace

void check_layout(const dist::layout& all, std::span<const std::int64_t> extents, const char* name) {
  const std::string whose(name);
  if (all.axes.size() != extents.size()) {
    refuse(whose + " has " + std::to_string(all.axes.size()) + " axes, wanted " + std::to_string(extents.size()));
  }
  std::int64_t cells = 1;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    const std::string axis = whose + ": axis " + std::to_string(k);
    if (all.axes[k].cells < 1 || !base::checked_mul(cells, all.axes[k].cells, cells)) {
      refuse(axis + " has " + std::to_string(all.axes[k].cells) +
             " cells, wanted at least 1, and fewer than 2^63 in all");
    }
    check_axis(all.axes[k], extents[k], axis);
  }
  if (static_cast<std::int64_t>(all.owners.size()) != cells) {
    refuse(whose + " has " + std::to_string(all.owners.size()) + " owners, wanted one for each of " +
           std::to_string(cells) + " cells");
  }
  for (std::size_t cell = 0; cell < all.owners.size(); ++cell) {
    if (all.owners[cell] < 0) {
      refuse(whose + ": cell " + std::to_string(cell) + " has owner " + std::to_string(all.owners[cell]) +
             ", wanted a rank >= 0");
    }
  }
}

std::vector<std::int64_t> cells_of(const dist::layout& all, int rank) {
  std::vector<std::int64_t> found;
  for (std::size_t cell = 0; cell < all.owners.size(); ++cell) {
    if (all.owners[cell] == rank) found.push_back(static_cast<std::int64_t>(cell));
  }
  return found;
}

std::vector<std::int64_t> lengths_of(const dist::axis_layout& axis) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(axis.cells), 0);
  for (std::size_t k = 0; k < axis.coordinates.size(); ++k) {
    lengths[static_cast<std::size_t>(axis.coordinates[k])] += axis.splits[k + 1] - axis.splits[k];
  }
  return lengths;
}

namespace {

// The coordinates of a cell, the last axis fastest.
std::array<std::int32_t, dist::max_rank> coordinates_of(const dist::layout& all, std::int64_t cell) {
  std::array<std::int32_t, dist::max_rank> found{};
  for (std::size_t k = all.axes.size(); k-- > 0; cell /= all.axes[k].cells) {
    found[k] = static_cast<std::int32_t>(cell % all.axes[k].cells);
  }
  return found;
}

std::int64_t cell_at(const dist::layout& all, const std::array<std::int32_t, dist::max_rank>& coordinates) {
  std::int64_t cell = 0;
  for (std::size_t k = 0; k < all.axes.size(); ++k) cell = cell * all.axes[k].cells + coordinates[k];
  return cell;
}

dist::layout without_intervals(const dist::layout& all) {
  dist::layout made;
  made.owners = all.owners;
  for (const dist::axis_layout& axis : all.axes) {
    made.axes.emplace_back();
    made.axes.back().cells = axis.cells;
  }
  return made;
}

}  // namespace

std::vector<std::int64_t> block_extents(const dist::layout& all, std::int64_t cell) {
  const auto at = coordinates_of(all, cell);
  std::vector<std::int64_t> extents;
  for (std::size_t k = 0; k < all.axes.size(); ++k) {
    extents.push_back(lengths_of(all.axes[k])[static_cast<std::size_t>(at[k])]);
  }
  return extents;
}

overlay::axis_overlay overlay::merged(const dist::axis_layout& src, const dist::axis_layout& dst) {
  // 1. Segments, with their coordinates.
  struct segment {
    std::int32_t src, dst;
    progression at;
  };
  std::vector<segment> segments;
  std::vector<std::int64_t> src_filled(static_cast<std::size_t>(src.cells), 0);
  std::vector<std::int64_t> dst_filled(static_cast<std::size_t>(dst.cells), 0);
  std::size_t i = 0, j = 0;
  for (std::int64_t at = 0; at < src.splits.back();) {
    while (src.splits[i + 1] <= at) ++i;
    while (dst.splits[j + 1] <= at) ++j;
    const std::int64_t length = std::min(src.splits[i + 1], dst.splits[j + 1]) - at;
    std::int64_t& src_at = src_filled[static_cast<std::size_t>(src.coordinates[i])];
    std::int64_t& dst_at = dst_filled[static_cast<std::size_t>(dst.coordinates[j])];
    segments.push_back({src.coordinates[i], dst.coordinates[j], {1, length, src_at, 0, dst_at, 0}});
    src_at += length;
    dst_at += length;
    at += length;
  }
  // 2. Buckets. The sort is stable: a bucket keeps the order of positions.
  std::stable_sort(segments.begin(), segments.end(),
                   [](const segment& a, const segment& b) { return std::tie(a.src, a.dst) < std::tie(b.src, b.dst); });
  axis_overlay made;
  made.from.resize(static_cast<std::size_t>(src.cells));
  made.to.resize(static_cast<std::size_t>(dst.cells));
  std::vector<progression> joined;
  for (std::size_t k = 0; k < segments.size();) {
    bucket one;
    one.src = segments[k].src;
    one.dst = segments[k].dst;
    joined.clear();
    for (; k < segments.size() && segments[k].src == one.src && segments[k].dst == one.dst; ++k) {
      const progression& next = segments[k].at;
      one.elements += next.length;
      if (!joined.empty() && joined.back().src_at + joined.back().length == next.src_at &&
          joined.back().dst_at + joined.back().length == next.dst_at) {
        joined.back().length += next.length;
      } else {
        joined.push_back(next);
      }
    }
    one.runs = compressed(joined);
    made.from[static_cast<std::size_t>(one.src)].push_back(made.buckets.size());
    made.to[static_cast<std::size_t>(one.dst)].push_back(made.buckets.size());
    made.buckets.push_back(std::move(one));
  }
  return made;
}

overlay::overlay(const dist::problem& what)
    : rank_(static_cast<int>(what.extents.size())),
      src_(without_intervals(what.src)),
      dst_(without_intervals(what.dst)) {
  std::vector<std::int64_t> permuted;
  for (const int axis : what.axes) permuted.push_back(what.extents[static_cast<std::size_t>(axis)]);
  check_layout(what.src, what.extents, "the layout of src");
  check_layout(what.dst, permuted, "the layout of dst");
  std::copy(what.axes.begin(), what.axes.end(), axes_.begin());
  for (int k = 0; k < rank_; ++k) {
    along_[k] = merged(what.src.axes[static_cast<std::size_t>(axes_[k])], what.dst.axes[static_cast<std::size_t>(k)]);
  }
}

// 4. The product of the buckets of all axes.
std::vector<link> overlay::links_of(int rank, bool sent) const {
  std::vector<link> found;
  for (const std::int64_t cell : cells_of(sent ? src_ : dst_, rank)) {
    const auto mine = coordinates_of(sent ? src_ : dst_, cell);
    std::array<std::span<const std::size_t>, dist::max_rank> choices{};
    bool empty = false;
    for (int k = 0; k < rank_; ++k) {
      choices[k] = sent ? along_[k].from[static_cast<std::size_t>(mine[axes_[k]])]
                        : along_[k].to[static_cast<std::size_t>(mine[k])];
      empty = empty || choices[k].empty();
    }
    if (empty) continue;
    std::array<std::size_t, dist::max_rank> at{};
    for (int k = 0; k >= 0;) {
      link one;
      one.elements = 1;
      std::array<std::int32_t, dist::max_rank> there{};
      for (k = 0; k < rank_; ++k) {
        const bucket& chosen = along_[k].buckets[choices[k][at[k]]];
        one.axes[k] = chosen.runs;
        one.elements *= chosen.elements;
        there[sent ? k : axes_[k]] = sent ? chosen.dst : chosen.src;
      }
      const std::int64_t other = cell_at(sent ? dst_ : src_, there);
      one.src_cell = sent ? cell : other;
      one.dst_cell = sent ? other : cell;
      one.src_rank = src_.owners[static_cast<std::size_t>(one.src_cell)];
      one.dst_rank = dst_.owners[static_cast<std::size_t>(one.dst_cell)];
      found.push_back(one);
      k = rank_ - 1;
      while (k >= 0 && ++at[k] == choices[k].size()) at[k--] = 0;
    }
  }
  std::sort(found.begin(), found.end(), [](const link& a, const link& b) {
    return std::tie(a.src_cell, a.dst_cell) < std::tie(b.src_cell, b.dst_cell);
  });
  return found;
}

std::vector<link> overlay::sent_by(int rank) const { return links_of(rank, true); }
std::vector<link> overlay::received_by(int rank) const { return links_of(rank, false); }

}  // namespace cornerturn::distributed
