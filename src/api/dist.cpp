// The layouts of dist.hpp.
#include "cornerturn/dist.hpp"

#include <algorithm>
#include <numeric>

#include "api/guard.hpp"
#include "base/checked.hpp"
#include "dist/layout.hpp"

namespace cornerturn::dist {
namespace {

using distributed::refuse;

axis_layout whole_axis(std::int64_t extent) { return {{0, extent}, {0}, 1}; }

// Coordinate k has interval k.
axis_layout cut_axis(std::span<const std::int64_t> splits) {
  axis_layout made;
  made.splits.assign(splits.begin(), splits.end());
  made.cells = std::max(static_cast<std::int32_t>(splits.size()) - 1, 1);
  made.coordinates.resize(splits.empty() ? 0 : splits.size() - 1);
  std::iota(made.coordinates.begin(), made.coordinates.end(), 0);
  return made;
}

layout made_slabs(std::span<const std::int64_t> extents, int axis, std::span<const std::int64_t> splits) {
  if (axis < 0 || axis >= static_cast<int>(extents.size())) {
    refuse("axis is " + std::to_string(axis) + ", wanted an axis of " + std::to_string(extents.size()) + " extents");
  }
  layout made;
  for (const std::int64_t extent : extents) made.axes.push_back(whole_axis(extent));
  made.axes[static_cast<std::size_t>(axis)] = cut_axis(splits);
  made.owners.resize(static_cast<std::size_t>(made.axes[static_cast<std::size_t>(axis)].cells));
  std::iota(made.owners.begin(), made.owners.end(), 0);
  distributed::check_layout(made, extents, "the layout");
  return made;
}

// Block k of ScaLAPACK's axis is on process (first + k) % processes.
axis_layout cyclic_axis(std::int64_t extent, std::int64_t block, std::int32_t first, std::int32_t processes) {
  axis_layout made;
  made.cells = processes;
  made.splits.push_back(0);
  for (std::int64_t at = 0; at < extent; at += std::min(block, extent - at)) {
    const std::int64_t number = at / block % processes;
    made.coordinates.push_back(static_cast<std::int32_t>((first + number) % processes));
    made.splits.push_back(at + std::min(block, extent - at));
  }
  if (extent == 0) made = {{0, 0}, {0}, processes};
  return made;
}

layout made_block_cyclic(const block_cyclic_descriptor& all) {
  const auto check = [](const char* name, std::int64_t found, std::int64_t least, std::int64_t below) {
    if (found >= least && found < below) return;
    refuse(std::string(name) + " is " + std::to_string(found) + ", wanted at least " + std::to_string(least) +
           (below == INT64_MAX ? "" : " and less than " + std::to_string(below)));
  };
  check("rows", all.rows, 0, INT64_MAX);
  check("cols", all.cols, 0, INT64_MAX);
  check("row_block", all.row_block, 1, INT64_MAX);
  check("col_block", all.col_block, 1, INT64_MAX);
  check("process_rows", all.process_rows, 1, INT64_MAX);
  check("process_cols", all.process_cols, 1, INT64_MAX);
  check("first_process_row", all.first_process_row, 0, all.process_rows);
  check("first_process_col", all.first_process_col, 0, all.process_cols);
  layout made;
  made.axes.push_back(cyclic_axis(all.rows, all.row_block, all.first_process_row, all.process_rows));
  made.axes.push_back(cyclic_axis(all.cols, all.col_block, all.first_process_col, all.process_cols));
  for (std::int32_t row = 0; row < all.process_rows; ++row) {
    for (std::int32_t col = 0; col < all.process_cols; ++col) {
      made.owners.push_back(all.column_major_ranks ? col * all.process_rows + row : row * all.process_cols + col);
    }
  }
  return made;
}

}  // namespace

layout slabs(std::span<const std::int64_t> extents, int axis, std::span<const std::int64_t> splits) {
  return api::guarded([&] { return made_slabs(extents, axis, splits); });
}

layout slabs(std::span<const std::int64_t> extents, int axis, int ranks) {
  return api::guarded([&] {
    if (ranks < 1) refuse("ranks is " + std::to_string(ranks) + ", wanted at least 1");
    const bool is_axis = axis >= 0 && axis < static_cast<int>(extents.size());
    const std::int64_t extent = is_axis ? extents[static_cast<std::size_t>(axis)] : 0;
    const std::int64_t slab = base::ceil_div(extent, ranks);
    std::vector<std::int64_t> splits{0};
    for (int rank = 0; rank < ranks; ++rank) splits.push_back(splits.back() + std::min(slab, extent - splits.back()));
    return made_slabs(extents, axis, splits);
  });
}

layout grid(std::span<const std::vector<std::int64_t>> splits, std::span<const std::int32_t> owners) {
  return api::guarded([&] {
    layout made;
    std::vector<std::int64_t> extents;
    for (const std::vector<std::int64_t>& axis : splits) {
      made.axes.push_back(cut_axis(axis));
      extents.push_back(axis.empty() ? 0 : axis.back());
    }
    made.owners.assign(owners.begin(), owners.end());
    distributed::check_layout(made, extents, "the layout");
    return made;
  });
}

layout block_cyclic(const block_cyclic_descriptor& all) {
  return api::guarded([&] { return made_block_cyclic(all); });
}

std::vector<std::vector<std::int64_t>> blocks_of(const layout& all, int rank) {
  return api::guarded([&] {
    std::vector<std::int64_t> extents;
    for (const axis_layout& axis : all.axes) extents.push_back(axis.splits.empty() ? 0 : axis.splits.back());
    distributed::check_layout(all, extents, "the layout");
    std::vector<std::vector<std::int64_t>> blocks;
    for (const std::int64_t cell : distributed::cells_of(all, rank)) {
      blocks.push_back(distributed::block_extents(all, cell));
    }
    return blocks;
  });
}

}  // namespace cornerturn::dist
