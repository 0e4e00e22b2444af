// Structures of a few elements to arrays (deinterleave), and arrays to structures (interleave).
#include <algorithm>

#include "kernels/gpu/interleave/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

}  // namespace

bool offers::interleave(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                        kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const std::int64_t word = form.word_bytes;
  if (row.element_bytes != word || row.shared_bytes > on.shared_bytes || !on.words.async_copies) return false;
  const bool split = row.tile_rows > row.tile_cols;  // src has the structures
  const bool unaligned = kernels::is_variant(row, "_unaligned");
  const auto structures = split ? &axis::src_stride : &axis::dst_stride;
  const auto arrays = split ? &axis::dst_stride : &axis::src_stride;
  const axis* const member = split ? known.src_unit() : known.dst_unit();  // the axis within a structure
  const axis* const first = split ? known.dst_unit() : known.src_unit();   // the axis along contiguous structures
  if (member == nullptr || first == nullptr || member == first) return false;
  if (member->extent != std::min(row.tile_rows, row.tile_cols) || first->*structures != member->extent) return false;
  const std::int64_t structure_bytes = member->extent * word;
  const std::int64_t step = unaligned ? std::min<std::int64_t>(structure_bytes & -structure_bytes, 16) : 16;
  if (known.alignment < step) return false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (&one != member && &one != first && one.*structures * word % step != 0) return false;
    if (!unaligned && &one != first && one.*arrays * word % 16 != 0) return false;
  }
  // Short runs of structures continue along any other axes, if no chunk of 16 bytes spans two runs.
  const std::int64_t extent = std::max(row.tile_rows, row.tile_cols);
  tile_side along;
  along.add(static_cast<int>(first - form.axes.data()), first->extent);
  // Halves of sectors of three and more arrays are not stored together: 2638538 x 16 x 6 bytes 0.52, chunks that are assembled
  // 0.97; of two arrays they are, 10557974 x 8 x 2 of 2 bytes 0.86 (H100, 2026-11-25).
  const bool stores_halves = split && member->extent > 2 && first->extent * word < 32;
  const bool lengthens = !unaligned && first->extent * word % 16 == 0 && !stores_halves;
  for (int k = form.rank - 1; k >= 0 && along.total < 16 * extent && lengthens; --k) {
    if (&form.axes[k] == member || &form.axes[k] == first) continue;
    if (form.axes[k].extent > most_blocks / (along.total * member->extent)) continue;
    along.add(k, form.axes[k].extent);
  }
  const std::int64_t total = along.total;
  if (fill(total, extent) < 0.6) return false;
  if (!unaligned && total * member->extent > most_blocks) return false;  // the kernel counts chunks with 32 bits

  auto fill_args = [&](tile_args& args) {
    (split ? args.dst_col_bytes : args.src_row_bytes) = member->*arrays * word;
    args.blocks.extent[0] = total;
    args.blocks.tile[0] = static_cast<std::int32_t>(extent);
    grid_builder number(args.blocks, word);
    // If chunks are realigned, units begin up to V - 1 structures before the first one and end as far behind the last
    // one.
    const std::int64_t counted = total + (unaligned ? 2 * (16 / word - 1) : 0);
    number.add(ceil_div(counted, extent), 0, 1, 0, 0);
    for (int k = form.rank - 1; k >= 0; --k) {
      const axis& one = form.axes[k];
      if (&one == member || along.has(k)) continue;
      number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
    }
    return finish(made, number, row);
  };
  if (unaligned) {
    if (!fill_args(made.emplace<tile_args>())) return false;
    made.reason = "few elements are contiguous on one side, strided at any address on the other: regrouped, realigned";
  } else {
    auto& args = made.emplace<interleave_args>();
    if (along.rank > 1) {
      tile_side rest;
      for (int k = 1; k < along.rank; ++k) rest.add(along.axes[k], form.axes[along.axes[k]].extent);
      args.arrays = fuse(form, along, arrays);
      args.runs = fuse(form, rest, structures);
      args.run_chunks = map::fast_divisor(static_cast<std::uint32_t>(first->extent * member->extent * word / 16));
    }
    if (!fill_args(args)) return false;
    made.reason = "few elements are contiguous on one side and strided on the other: regrouped in registers";
  }
  predict(known, on, row,
          {.dram = along.rank > 1 ? sector_waste(first->extent * word, 16) : 0, .issue = 1 / fill(total, extent) - 1},
          made);
  return true;
}

std::string descriptions::interleave(const kernels::offer& made) {
  const auto& args = made.as<tile_args>();
  return "structures " + std::to_string(args.blocks.extent[0]) + ", " + std::to_string(args.blocks.tile[0]) +
         " at a time\n" + describe_grid(args.blocks);
}

}  // namespace cornerturn::gpu
