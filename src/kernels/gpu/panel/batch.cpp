// Batches of matrices at any address, whose panels are in a table. Each team size of panels has a launch. kernel.cuh has
// the kernel.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "kernels/batch.hpp"
#include "kernels/gpu/panel/cut.hpp"
#include "kernels/gpu/policy/offers.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

// The time for each element of a matrix, in times of a copy: a team that waits for its matrix costs as much as so many bytes. 8 x 8
// float32 reaches 0.27 of a copy, 31 x 33 float32 0.88 (H200, 2026-11-22). Boxes of several matrices are as fast at 2 KiB.
constexpr double time_of_batch = 1.1;
constexpr double team_bytes = 409.5;

// The panels of one team size, and the number of their items and shapes.
struct panel_group {
  std::vector<panel_item> panels;
  std::int64_t items = 0;
  std::int64_t shapes = 0;
};
using panel_groups = std::array<panel_group, 4>;

std::size_t group_of(const panel_shape& shape) noexcept {
  return static_cast<std::size_t>(shape.team_log2 - smallest_team_log2);
}

// The smallest team of panels. A launch of few blocks costs more than the idle threads of a larger team: 10,000
// matrices of 8 to 300 float32 a side reach 0.838 of a copy in five launches, 0.875 in two (H200, 2026-11-22).
int least_team(std::span<const kernels::batch_shape* const> shapes, std::int64_t multiprocessors) noexcept {
  std::array<std::int64_t, 4> panels{};
  for (const kernels::batch_shape* const one : shapes) {
    const auto& matrix = one->as<panel_matrix>();
    const panel_cut cut = cut_panels(matrix);
    panels[group_of(shape_of_panels(matrix, cut.rows, cut.cols))] +=
        static_cast<std::int64_t>(one->items.size()) * ceil_div(matrix.cols, cut.cols);
  }
  int least = smallest_team_log2;
  for (std::size_t k = 0; k + 1 < panels.size(); ++k, ++least) {
    if (panels[k] >= 4 * multiprocessors * (panel_threads >> least)) break;
    panels[k + 1] += panels[k];
  }
  return least;
}

// Adds every panel of a shape's items to the group of its team size.
void add_panels(const kernels::batch_shape& one, int least_team_log2, panel_groups& groups) {
  const auto& matrix = one.as<panel_matrix>();
  const panel_cut cut = cut_panels(matrix);
  for (std::int64_t row = 0; row < matrix.rows; row += cut.rows) {
    panel_item part;
    part.shape = shape_of_panels(matrix, std::min(cut.rows, matrix.rows - row), cut.cols, least_team_log2);
    panel_group& group = groups[group_of(part.shape)];
    if (row == 0) group.items += static_cast<std::int64_t>(one.items.size()), ++group.shapes;
    for (const item_addresses& item : one.items) {
      part.src_begin = item.src + static_cast<std::uint64_t>(one.src_span.lo);
      part.src_end = item.src + static_cast<std::uint64_t>(one.src_span.hi);
      for (std::int64_t col = 0; col < matrix.cols; col += cut.cols) {
        part.src = item.src + static_cast<std::uint64_t>(row * matrix.src_row_bytes + col * matrix.word_bytes);
        part.dst = item.dst + static_cast<std::uint64_t>(row * matrix.word_bytes + col * matrix.dst_col_bytes);
        part.cols = std::min(cut.cols, matrix.cols - col);
        group.panels.push_back(part);
      }
    }
  }
}

// Adds the launch of the panels of one team size.
void add_launch(kernels::batch_tables& made, const panel_group& group, const kernels::kernel& row) {
  if (group.panels.empty()) return;
  kernels::batch_launch one;
  one.row = &row;
  auto& args = one.emplace<panel_batch_args>(1);
  args.team_log2 = group.panels[0].shape.team_log2;
  for (const panel_item& panel : group.panels) {
    args.shared_bytes = std::max(args.shared_bytes, panel.shape.shared_bytes);
  }
  args.shared_bytes += static_cast<std::int32_t>(sizeof(panel_item));
  args.count = static_cast<std::uint32_t>(group.panels.size());
  const int teams = panel_threads >> args.team_log2;
  one.blocks = static_cast<std::uint32_t>(ceil_div(args.count, teams));
  one.shared_bytes = teams * args.shared_bytes;
  args.items = made.append(group.panels);
  one.items = group.items;
  one.shapes = group.shapes;
  made.launches.push_back(one);
}

}  // namespace

bool batch_offers::panel(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                         kernels::offer& made) noexcept {
  if (row.element_bytes != known.form.word_bytes || known.form.rank != 2 || !on.words.async_copies) return false;
  if (on.shared_bytes < most_panel_bytes || known.bytes >= kernels::most_item_bytes) return false;
  auto& matrix = made.emplace<panel_matrix>();
  if (!find_matrix(known.form, matrix)) return false;
  made.time = time_of_batch + team_bytes / static_cast<double>(known.bytes);
  made.reason = "matrices: all rows and some columns of one at a time, by a team of threads";
  return true;
}

void lay_outs::panel(std::span<const kernels::batch_shape* const> shapes, const kernels::target& on,
                     const kernels::kernel& row, kernels::batch_tables& made) {
  panel_groups teams;
  const int least = least_team(shapes, on.multiprocessors);
  for (const kernels::batch_shape* const one : shapes) add_panels(*one, least, teams);
  for (const panel_group& group : teams) add_launch(made, group, row);
}

}  // namespace cornerturn::gpu
