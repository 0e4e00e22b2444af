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
  if (axes == nullptr || row.element_bytes != known.form.word_bytes) return false;
  const bool fused = kernels::is_variant(row, "_fused");
  if (fused != axes->fused() || row.shared_bytes > on.shared_bytes) return false;
  if (fused) {
    auto& args = made.emplace<fused_tile_args>();
    args.rows = fuse(known.form, axes->rows, axes->row_rank, &axis::src_stride);
    args.cols = fuse(known.form, axes->cols, axes->col_rank, &axis::dst_stride);
    if (!number_tiles(known, row, on.gpu->band_bytes, args, made)) return false;
  } else if (!number_tiles(known, row, on.gpu->band_bytes, made.emplace<tile_args>(), made)) {
    return false;
  }
  made.reason = "some address is no multiple of 16 bytes: granules are realigned, dst is stored in whole sectors";
  predict(known, on, row,
          {.requests = cut_tiles(*axes, row, true),
           .shared = axes->row_total <= row.tile_rows ? 1.0 : 0.0,  // the last tile of a column takes one more chunk
           .issue = empty_part(*axes, row)},
          made);
  return true;
}

std::string descriptions::unaligned_tile(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
