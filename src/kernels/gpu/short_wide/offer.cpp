// Short-wide: a column has at most 128 bytes, in whole chunks of 16 bytes (unaligned: 256 bytes of wide words). For the
// aligned kernels, columns may be any axes. For the unaligned kernels, src may have any address.
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/short_wide/args.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

bool offer_aligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  auto& args = made.emplace<short_wide_args>();
  made.reason = "every address is a multiple of 16 bytes and rows are few: whole columns are stored in order";
  return offer_skinny_tiles(known, on, row, 0, args, args.cols_src, made);
}

bool offer_unaligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const std::int64_t word = form.word_bytes, v = 16 / word;
  const int narrow_log2 = unaligned_short_side_log2(axes.rows.total, word);
  if (!axes.dst_aligned || axes.rows.rank != 1 || narrow_log2 < 0) return false;
  const std::int64_t wide = units_of_tile(word) >> narrow_log2;  // blocks along a tile
  if (axes.cols.total < 2 * wide * v) return false;

  auto& args = made.emplace<unaligned_short_wide_args>();
  args.narrow_log2 = narrow_log2;
  args.run_chunks = map::fast_divisor(static_cast<std::uint32_t>(wide + 1));
  set_tile(form, axes, wide * v, axes.rows.total, args);
  if (axes.cols.rank > 1) args.cols = fuse(form, axes.cols, &axis::dst_stride);
  grid_builder number(args.blocks, word);
  number.add(ceil_div(axes.cols.total, wide * v), 0, 1, 0, 0);
  number_others(form, axes, number);
  if (!finish(made, number, row)) return false;
  made.reason = "rows are few and every address of dst is a multiple of 16 bytes: rows of src are realigned";
  predict(known, on, row,
          {.issue = 1 / (fill(axes.rows.total, v << narrow_log2) * fill(axes.cols.total, wide * v)) - 1}, made);
  return true;
}

}  // namespace

bool offers::short_wide(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                        kernels::offer& made) noexcept {
  if (known.axes() == nullptr || known.alignment != 16 || row.element_bytes != known.form.word_bytes) return false;
  if (row.shared_bytes > on.shared_bytes || !on.words.async_copies) return false;
  return kernels::is_variant(row, "_unaligned") ? offer_unaligned(known, on, row, made)
                                                : offer_aligned(known, on, row, made);
}

std::string descriptions::short_wide(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
