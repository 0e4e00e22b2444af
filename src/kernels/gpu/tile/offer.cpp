// Register-block tiles through shared memory. Every address is a multiple of 16 bytes.
#include <algorithm>

#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/tile/args.hpp"

namespace cornerturn::gpu {

bool offers::tile(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                  kernels::offer& made) noexcept {
  const transpose_axes* const axes = known.axes();
  if (axes == nullptr || known.alignment != 16 || !axes->aligned() || row.element_bytes != known.form.word_bytes)
    return false;
  // Fills the arguments and the grid. Refuses a _fused kernel for axes that are not fused, and the reverse. Consecutive blocks go
  // down the rows of src.
  if (!place_tiles(known, on, row, made)) return false;
  const std::int64_t side_bytes = std::int64_t{row.tile_rows} * row.element_bytes;
  const bool large = side_bytes > 128;
  made.reason = large ? "every address is a multiple of 16 bytes: register blocks, 256 bytes of each row and column"
                      : "every address is a multiple of 16 bytes: register blocks, 128 bytes of each row and column";
  // The counts of a large matrix of whole tiles are small, so the rows' constants of `copy` (machine/h200.json) decide
  // most. `cornerturn explain 16384x16384 --machine H200` prints the sums.
  predict(
      known, on, row,
      {.dram = tile_waste(known, side_bytes, side_bytes),
       .requests = cut_tiles(*axes, row, false),
       .shared = static_cast<double>(row.tile_rows) / static_cast<double>(std::min(axes->rows.total, axes->cols.total)),
       .issue = empty_part(*axes, row)},
      made);
  return true;
}

std::string descriptions::tile(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
