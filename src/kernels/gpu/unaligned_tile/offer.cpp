// Tiles at any address that is a multiple of one element. Granules of 16 bytes are realigned; dst is stored in whole
// sectors.
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/unaligned_tile/args.hpp"

namespace cornerturn::gpu {

bool offers::unaligned_tile(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                            kernels::offer& made) noexcept {
  const transpose_axes* const axes = known.axes();
  if (axes == nullptr || row.element_bytes != known.form.word_bytes || !on.words.async_copies) return false;
  if (!place_tiles(known, on, row, made)) return false;
  made.reason = "some address is no multiple of 16 bytes: granules are realigned, dst is stored in whole sectors";
  predict(known, on, row,
          {.requests = cut_tiles(*axes, row, true),
           .shared = axes->rows.total <= row.tile_rows ? 1.0 : 0.0,  // the last tile of a column takes one more chunk
           .issue = empty_part(*axes, row)},
          made);
  return true;
}

std::string descriptions::unaligned_tile(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
