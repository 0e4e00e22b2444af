// Panels: many small matrices at any address, all rows and some columns of one at a time. batch.cpp has the
// offers of the rows for batches.
#include "kernels/gpu/panel/cut.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"

namespace cornerturn::gpu {
namespace {

// DRAM: sectors at the ends of columns that are not contiguous. Requests: a team's rounds of loads, for each element.
// Issue: a team's rounds over its tasks, for each element.
counts count(const panel_args& args, const panel_matrix& matrix, std::int64_t alignment) noexcept {
  const panel_shape& shape = args.shape;
  const std::int64_t threads = std::int64_t{1} << shape.team_log2, chunk = panel_chunk(matrix.word_bytes);
  const std::int64_t cols = args.panels.tile[0], slices = base::ceil_div(cols, chunk);
  const std::int64_t tasks = shape.slice_tasks.divisor * base::ceil_div(slices, std::int64_t{shape.slices});
  const double elements = static_cast<double>(matrix.rows) * static_cast<double>(cols) * fill(matrix.cols, cols);
  const auto rounds = static_cast<double>(base::ceil_div(tasks, threads) * threads);
  const auto loads = static_cast<double>(
      base::ceil_div(std::int64_t{shape.rows.divisor} * shape.row_units.divisor, threads) * threads);
  return {.dram = shape.end_to_end != 0 ? 0 : sector_waste(matrix.rows * matrix.word_bytes, alignment),
          .requests = loads / elements,
          .issue = rounds * (shape.slices + 1.5) / elements};
}

}  // namespace

bool offers::panel(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  if (row.kind != kernels::row_kind::move || row.element_bytes != form.word_bytes) return false;
  if (!on.words.async_copies) return false;
  panel_matrix matrix;
  if (on.shared_bytes < most_panel_bytes || !is_of_panels(form, matrix)) return false;
  const panel_args args = fill_panels(form, matrix, made.blocks);
  if (made.blocks == 0) return false;
  made.emplace<panel_args>() = args;
  made.shared_bytes = args.shape.shared_bytes * (panel_threads >> args.shape.team_log2);
  made.reason = "many small matrices: all rows and some columns of one at a time, dst stored as one line";
  predict(known, on, row, count(args, matrix, known.alignment), made);
  return true;
}

std::string descriptions::panel(const kernels::offer& made) {
  const auto& args = made.as<panel_args>();
  return "panels     " + std::to_string(args.count) + " of " + std::to_string(args.shape.rows.divisor) + " rows x " +
         std::to_string(args.panels.tile[0]) + " columns of " + std::to_string(made.row->element_bytes) +
         "-byte words, by " + std::to_string(1 << args.shape.team_log2) + " threads each\n";
}

}  // namespace cornerturn::gpu
