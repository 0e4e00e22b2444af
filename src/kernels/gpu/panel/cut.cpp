#include "kernels/gpu/panel/cut.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

// Of a panel. 10,000 matrices of 8 to 300 a side reach these shares of a copy: float32 0.882 with 32 KiB, 0.875 with 24
// KiB, about 0.85 with 20 KiB; 2-byte elements 0.66 with 32 KiB, 0.65 with 24 KiB (H200, 2026-11-22).
constexpr std::int64_t most_bytes = 32 << 10;
constexpr std::int64_t fewest_row_bytes = 64;  // a matrix is cut along its rows if less of each would fit
// Of each thread of a team, at least: 31 x 33 float32 reaches 0.86 of a copy with 48, 0.80 with 24, 0.55 with 12 (H200,
// 2026-11-22).
constexpr std::int64_t bytes_of_thread = 48;
static_assert(most_bytes + panel_threads / 32 * static_cast<int>(sizeof(panel_item)) <= most_panel_bytes);

std::int64_t row_units(std::int64_t word, std::int64_t cols) noexcept {
  const std::int64_t unit = panel_unit(word);
  return ceil_div(cols * word + (word < unit ? unit - word : 0), unit);
}

std::int64_t shared_bytes(std::int64_t word, std::int64_t rows, std::int64_t cols) noexcept {
  return (rows * row_units(word, cols) + ceil_div(rows, panel_chunk(word))) * panel_unit(word);
}

map::fast_divisor divisor(std::int64_t by) noexcept { return map::fast_divisor(static_cast<std::uint32_t>(by)); }

}  // namespace

bool find_matrix(const map::canonical& form, panel_matrix& found) noexcept {
  if (form.rank < 2 || form.word_bytes > 8) return false;
  int row = -1, col = -1;
  for (int k = 0; k < form.rank; ++k) {
    if (form.axes[k].dst_stride == 1) row = k;
  }
  for (int k = 0; k < form.rank; ++k) {  // windows that overlap in src have several axes of stride 1: the longest
    const bool longer = col < 0 || form.axes[k].extent > form.axes[col].extent;
    if (k != row && form.axes[k].src_stride == 1 && longer) col = k;
  }
  if (row < 0 || col < 0) return false;
  const std::int64_t word = form.word_bytes;
  found = {.word_bytes = word,
           .rows = form.axes[row].extent,
           .cols = form.axes[col].extent,
           .src_row_bytes = form.axes[row].src_stride * word,
           .dst_col_bytes = form.axes[col].dst_stride * word,
           .row_axis = row,
           .col_axis = col};
  return true;
}

panel_cut cut_panels(const panel_matrix& matrix) noexcept {
  const std::int64_t word = matrix.word_bytes, chunk = panel_chunk(word);
  // Equal parts, or whole steps if the last part is then at least half as long.
  const auto balanced = [](std::int64_t all, std::int64_t most, std::int64_t step) {
    if (all <= most) return all;
    const std::int64_t parts = ceil_div(all, most), even = ceil_div(all, parts);
    const std::int64_t whole = ceil_div(even, step) * step;
    return whole <= most && all - (parts - 1) * whole >= whole / 2 ? whole : even;
  };
  // A step is 16 bytes of a row: slices are whole, and most panels begin at a sector.
  const std::int64_t step = std::max<std::int64_t>(16 / word, chunk);
  const std::int64_t few = std::min(matrix.cols, ceil_div(fewest_row_bytes, word));
  const std::int64_t fitting = most_bytes / ((row_units(word, few) * chunk + 1) * panel_unit(word)) * chunk;
  panel_cut made;
  made.rows = balanced(matrix.rows, fitting, chunk);
  std::int64_t most = few;
  while (most < matrix.cols && shared_bytes(word, made.rows, most + step) <= most_bytes) most += step;
  made.cols = balanced(matrix.cols, most, step);
  return made;
}

panel_shape shape_of_panels(const panel_matrix& matrix, std::int64_t rows, std::int64_t cols,
                            int least_team_log2) noexcept {
  const std::int64_t word = matrix.word_bytes, chunk = panel_chunk(word);
  panel_shape made;
  made.src_row_bytes = matrix.src_row_bytes;
  made.dst_col_bytes = matrix.dst_col_bytes;
  made.end_to_end = matrix.dst_col_bytes == rows * word ? 1 : 0;
  made.rows = divisor(rows);
  made.row_units = divisor(row_units(word, cols));
  // A column may begin within a chunk.
  const std::int64_t line = ceil_div(rows + chunk - 1, chunk);
  made.line_chunks = divisor(line);
  const std::int64_t tasks = made.end_to_end != 0 ? rows : line * std::min(chunk, cols);
  made.slice_tasks = divisor(tasks);
  const std::int64_t bytes = shared_bytes(word, rows, cols);
  while (made.team_log2 > least_team_log2 && std::int64_t{1} << made.team_log2 > bytes / bytes_of_thread)
    --made.team_log2;
  made.shared_bytes = static_cast<std::int32_t>(ceil_div(bytes, 16) * 16);
  // The setup of a task costs as much as one and a half slices.
  const std::int64_t slices = ceil_div(cols, chunk);
  double least = 1e300;
  for (std::int64_t k = 1; k <= std::min<std::int64_t>(slices, 32); ++k) {
    const std::int64_t rounds = ceil_div(tasks * ceil_div(slices, k), std::int64_t{1} << made.team_log2);
    const double cost = static_cast<double>(rounds) * (static_cast<double>(k) + 1.5);
    if (cost < least) least = cost, made.slices = static_cast<std::int32_t>(k);
  }
  return made;
}

bool is_of_panels(const map::canonical& form, panel_matrix& found) noexcept {
  return form.rank > 2 && find_matrix(form, found) && cut_panels(found).rows == found.rows;
}

panel_args fill_panels(const map::canonical& form, const panel_matrix& matrix, std::uint32_t& blocks) noexcept {
  const panel_cut cut = cut_panels(matrix);
  panel_args made;
  made.shape = shape_of_panels(matrix, cut.rows, cut.cols);
  made.panels.extent[0] = matrix.cols;
  made.panels.tile[0] = static_cast<std::int32_t>(cut.cols);
  const std::int64_t word = matrix.word_bytes;
  grid_builder number(made.panels, word);
  number.add(ceil_div(matrix.cols, cut.cols), 0, 1, cut.cols, cut.cols * (matrix.dst_col_bytes / word));
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (k != matrix.row_axis && k != matrix.col_axis) number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
  made.count = number.blocks();
  blocks = static_cast<std::uint32_t>(ceil_div(made.count, panel_threads >> made.shape.team_log2));
  return made;
}

}  // namespace cornerturn::gpu
