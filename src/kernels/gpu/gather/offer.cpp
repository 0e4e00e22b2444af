// Gather boxes: any axes, any alignment of at least one element. batch.cpp has the offers of the rows for batches.
#include <algorithm>

#include "kernels/gpu/gather/cut.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"

namespace cornerturn::gpu {
namespace {

// Smaller boxes, if a multiprocessor would have fewer than two: 17160 x 4 float32 columns of a matrix take 20 us in 3
// boxes (H200, 2026-11-22).
device_costs for_all_multiprocessors(const kernels::facts& known, const kernels::target& on) noexcept {
  constexpr std::int64_t least = 2048;
  device_costs made = *on.gpu;
  for (std::int64_t& bytes : made.gather_bytes) {
    bytes = std::min(bytes, std::max(least, known.bytes / (2 * on.multiprocessors)));
  }
  return made;
}

// Words, used or not, of all lanes that walk `lines` lines: kernel.cuh has the walk.
double slots_of(std::int64_t lines, std::int32_t lanes_log2, const map::fast_divisor& chunks, int lanes) noexcept {
  const std::int64_t across = base::ceil_div(lines, lanes >> lanes_log2);
  return static_cast<double>(across * chunks.divisor * gather_steps * lanes);
}

// DRAM: sectors at the ends of runs and lines, and sectors that short lines store again. Requests: words of the lanes that walk runs, for
// each 4 bytes. Shared: words of the lanes that walk lines, times their bank conflicts. Issue: entries of the address tables.
counts count(const kernels::facts& known, const box& cut, const kernels::target& on) noexcept {
  const int lanes = on.lanes;
  const gather_args& args = cut.args;
  const std::int64_t word = known.form.word_bytes;
  double part = 1;  // of a box that is within the extents, on average
  for (int slot = 0; slot < 2; ++slot) {
    if (args.blocks.tile[slot] > 1) part *= fill(args.blocks.extent[slot], args.blocks.tile[slot]);
  }
  // Where src is broadcast, its runs have fewer elements than the lines of dst.
  const double in_runs = static_cast<double>(args.runs) * args.run_elements;
  const double in_lines = std::max(in_runs, static_cast<double>(args.lines) * args.line_elements);
  const double words = in_lines * static_cast<double>(word) / 4 * part;
  std::int64_t bits = known.alignment;
  for (int k = args.run_axes; k < args.src_rank; ++k) bits |= args.src_axes[k].src_stride_bytes;
  const std::int64_t run_bytes = args.run_is_contiguous != 0 ? args.run_elements * word : word;
  const std::int64_t line_bytes = args.line_is_contiguous != 0 ? args.line_elements * word : word;
  std::int64_t dst_bits = known.alignment;
  for (int k = args.line_axes; k < args.dst_rank; ++k) dst_bits |= args.dst_axes[k].dst_stride_bytes;
  const double src_waste = args.run_is_contiguous != 0 ? sector_waste(run_bytes, bits & -bits) : 0;
  const double dst_waste = args.line_is_contiguous != 0 ? sector_waste(line_bytes, dst_bits & -dst_bits) : 0;
  // The elements of a line of less than 8 bytes are stored one after another.
  const bool one_by_one = word < 4 && args.line_is_contiguous != 0 && line_bytes < 8;
  const double stored_again = one_by_one ? 32.0 * (args.line_elements - 1) / static_cast<double>(line_bytes) : 0;
  const double entries = 256 +
                         (args.run_is_contiguous != 0 ? 0 : static_cast<double>(args.run_elements) * args.run_axes) +
                         static_cast<double>(args.runs) * (args.src_rank - args.run_axes) +
                         static_cast<double>(args.lines) * (args.dst_rank - args.line_axes) +
                         static_cast<double>(args.smem_entries) * args.line_axes;
  return {.again = fetched_again(known.form, cut.tile, 0, on.l2_bytes),
          .dram = waste_beyond_view(known.form, src_waste * in_runs / in_lines + 2 * dst_waste) + stored_again,
          .requests = slots_of(args.runs, args.run_lanes, args.run_chunks, lanes) / words,
          .shared = slots_of(args.lines, args.line_lanes, args.line_chunks, lanes) * cut.conflicts / words,
          .issue = entries / words};
}

}  // namespace

bool offers::gather(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                    kernels::offer& made) noexcept {
  if (known.form.empty || row.kind != kernels::row_kind::move || row.element_bytes != known.form.word_bytes)
    return false;
  if (known.form.rank == 0 || !on.words.async_copies) return false;
  const device_costs costs = for_all_multiprocessors(known, on);
  kernels::target here = on;
  here.gpu = &costs;
  const box cut = cut_box(known.form, on.shared_bytes, known.alignment, here);
  if (cut.blocks == 0) return false;
  made.emplace<gather_args>() = cut.args;
  made.blocks = cut.blocks;
  made.shared_bytes = cut.shared_bytes;
  made.reason = "runs of src are gathered into lines of dst in shared memory, for any axes and any alignment";
  predict(known, on, row, count(known, cut, on), made);
  return true;
}

std::string descriptions::gather(const kernels::offer& made) {
  const auto& args = made.as<gather_args>();
  const int word = made.row->element_bytes;
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  return "box        " + text(args.runs) + " runs of " + text(args.run_elements) + " words in src (" +
         text(args.run_is_contiguous != 0 ? args.run_elements * word : word) + " bytes at a time), " +
         text(args.lines) + " lines of " + text(args.line_elements) + " words in dst (" +
         text(args.line_is_contiguous != 0 ? args.line_elements * word : word) + " bytes at a time)\n" +
         describe_grid(args.blocks);
}

}  // namespace cornerturn::gpu
