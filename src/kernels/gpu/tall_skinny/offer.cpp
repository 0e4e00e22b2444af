// Tall-skinny: a row has at most 128 bytes, in whole chunks of 16 bytes (unaligned: 256 bytes of wide words). For the
// aligned kernels, rows may be any axes. For the unaligned kernels, dst may have any address.
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/tall_skinny/args.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

bool offer_aligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  auto& args = made.emplace<tall_skinny_args>();
  made.reason =
      "every address is a multiple of 16 bytes and columns are few: rows are copied to shared memory unchanged";
  return offer_skinny_tiles(known, on, row, 1, args, args.rows_dst, made);
}

bool offer_unaligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const std::int64_t word = form.word_bytes, v = 16 / word;
  const int narrow_log2 = unaligned_short_side_log2(axes.cols.total, word);
  // The halo is a block of rows. With 16 chunks a row, it is a 16th of a tile: 1171873 x 64 float32 reaches 0.79 of a
  // copy here, 0.90 in unaligned tiles (H200, 2026-11-22).
  if (!axes.src_aligned || axes.cols.rank != 1 || narrow_log2 < 0 || narrow_log2 > (word == 8 ? 4 : 3)) return false;
  const std::int64_t wide = units_of_tile(word) >> narrow_log2;  // blocks down a tile
  if (axes.rows.total < 2 * wide * v) return false;

  auto& args = made.emplace<unaligned_tall_skinny_args>();
  args.narrow_log2 = narrow_log2;
  set_tile(form, axes, axes.cols.total, (wide - 1) * v, args);
  if (axes.rows.rank > 1) args.rows = fuse(form, axes.rows, &axis::src_stride);
  grid_builder number(args.blocks, word);
  // A line may begin up to v - 1 rows into a chunk.
  number.add((axes.rows.total + v - 2) / v / (wide - 1) + 1, 1, 1, 0, 0);
  number_others(form, axes, number);
  if (!finish(made, number, row)) return false;
  made.reason = "columns are few and every address of src is a multiple of 16 bytes: columns of dst are realigned";
  predict(known, on, row, {.issue = 1 / (fill(axes.cols.total, v << narrow_log2)) - 1}, made);
  return true;
}

}  // namespace

bool offers::tall_skinny(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                         kernels::offer& made) noexcept {
  if (known.axes() == nullptr || known.alignment != 16 || row.element_bytes != known.form.word_bytes) return false;
  if (row.shared_bytes > on.shared_bytes || !on.words.async_copies) return false;
  return kernels::is_variant(row, "_unaligned") ? offer_unaligned(known, on, row, made)
                                                : offer_aligned(known, on, row, made);
}

std::string descriptions::tall_skinny(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
