// Any axes that are contiguous on both sides, with words of 1 to 8 bytes at any address.
#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gpu/assemble/cut.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"

namespace cornerturn::gpu {
bool offers::assemble(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                      kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  if (form.empty || (row.element_bytes != form.word_bytes && row.element_bytes != 1)) return false;
  const bool runs = kernels::is_variant(row, "_runs");
  if (runs ? known.src_unit_axis != known.dst_unit_axis : row.element_bytes != form.word_bytes) return false;
  if (known.dst_unit() == nullptr || !on.words.async_copies) return false;
  const bool has_runs_of_src = std::any_of(form.axes.begin(), form.axes.begin() + form.rank,
                                           [](const axis& one) { return base::magnitude(one.src_stride) == 1; });
  if (!has_runs_of_src) return false;
  const bool triples = find_triples(form) >= 0, fused = kernels::is_variant(row, "_fused");
  if (!runs && triples != kernels::is_variant(row, fused ? "x3_fused" : "x3")) return false;
  const assemble_box cut = cut_for_assembly(form, runs ? 0 : triples ? 3 : 1, runs || fused, on.shared_bytes, on);
  if (cut.blocks == 0) return false;
  made.emplace<assemble_args>() = cut.args;
  made.blocks = cut.blocks;
  made.shared_bytes = cut.shared_bytes;
  made.reason = "runs of src are staged unchanged; chunks of 16 bytes of dst are assembled, for any alignment";
  const assemble_args& args = cut.args;
  double part = 1;  // of a box that is within the extents, on average
  for (int slot = 0; slot < 2; ++slot) {
    if (args.blocks.tile[slot] > 1) part *= fill(args.blocks.extent[slot], args.blocks.tile[slot]);
  }
  const double part_of_run = static_cast<double>(cut.row_bytes);
  const double chunks = static_cast<double>(args.edge_groups) *
                        static_cast<double>(std::int64_t{16} << args.line_lanes) / static_cast<double>(cut.line_bytes);
  std::int64_t dst_bits = known.alignment;
  for (int k = 0; k < form.rank; ++k) {
    const std::int64_t step = base::magnitude(form.axes[k].dst_stride) * form.word_bytes;
    if (step >= cut.bytes_between_parts) dst_bits |= step;
  }
  // The families for aligned addresses were compared with boxes of full size, so small boxes count as full ones there.
  const bool aligned = known.alignment == 16 && known.axes() != nullptr && known.axes()->aligned();
  if (aligned) made.blocks = static_cast<std::uint32_t>(base::ceil_div(known.bytes, on.gpu->assemble_bytes));
  predict(known, on, row,
          {.again = fetched_again(form, cut.tile, 0, on.l2_bytes),
           .dram = 2 * sector_waste(cut.bytes_between_parts, dst_bits & -dst_bits),
           .requests = (part_of_run + 30) / part_of_run * cut.src_part / part,
           .shared = chunks * cut.conflicts / part,
           .issue = chunks / part},
          made);
  made.blocks = cut.blocks;
  return true;
}

std::string descriptions::assemble(const kernels::offer& made) {
  const auto& args = made.as<assemble_args>();
  return describe_grid(args.blocks);
}

}  // namespace cornerturn::gpu
