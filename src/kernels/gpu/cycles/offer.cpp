// A step of a rectangle in place: items follow the cycles of a permutation.
#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gpu/cycles/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/in_place_steps.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

constexpr int walkers_per_multiprocessor = 32;  // blocks that fit a multiprocessor of sm_90
static_assert(realigned_part_bytes == kernels::shortest_part_bytes);

// Effect  fills the arguments that depend on the rectangle alone
void take(cycles_args& args, const kernels::item_cycles& items) noexcept {
  args.row_bytes = items.row_bytes;
  args.item_bytes = items.item_bytes;
  args.row_slots = map::fast_divisor(static_cast<std::uint32_t>(items.row_slots));
  args.inner = map::fast_divisor(static_cast<std::uint32_t>(items.inner));
  args.outer = static_cast<std::uint32_t>(items.outer);
  args.rotate_inner = static_cast<std::uint32_t>(items.rotated_inner);
  args.rotate_outer = static_cast<std::uint32_t>(items.rotated_outer);
  args.first_in_workspace = static_cast<std::uint32_t>(items.first_in_workspace);
  args.count_in_workspace = static_cast<std::uint32_t>(items.count_in_workspace);
  args.writes_workspace = items.writes_workspace ? 1 : 0;
}

}  // namespace

bool offers::cycles(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                    kernels::offer& made) noexcept {
  const kernels::item_cycles* const items = known.cycles;
  if (items == nullptr || !on.words.block_flags) return false;
  const std::int64_t part_bytes = std::int64_t{row.tile_cols} * row.element_bytes;
  const std::int64_t item = items->item_bytes, slots = items->slots();
  const std::int64_t most = part_bytes - realigned_bytes;
  if (part_bytes < cycles_part_bytes && most < item) return false;
  const std::int64_t parts = ceil_div(item, most);
  const std::int64_t part = std::min(ceil_div(ceil_div(item, parts), 64) * 64, item);
  if (slots >= INT32_MAX / parts) return false;
  auto& args = made.emplace<cycles_args>();
  take(args, *items);
  const std::int64_t row_slots = args.row_slots.divisor;
  args.span_bytes = (ceil_div(slots, row_slots) - 1) * args.row_bytes + std::min(slots, row_slots) * item;
  args.part_bytes = static_cast<std::int32_t>(part);
  args.parts = map::fast_divisor(static_cast<std::uint32_t>(ceil_div(item, part)));
  args.count = static_cast<std::uint32_t>(slots * args.parts.divisor);
  args.walkers = std::min(args.count, static_cast<std::uint32_t>(on.multiprocessors * walkers_per_multiprocessor));
  made.blocks = args.walkers;
  made.flag_bytes = 4 * kernels::flag_words(args.count);
  made.shared_bytes = row.shared_bytes;
  made.reason = "items follow their cycles";
  // No prediction: the time orders the rows. The shortest parts that hold an item come first.
  made.time = 2 + static_cast<double>(part_bytes) / (1 << 15);
  made.binds = kernels::bound::dram;
  return true;
}

std::string descriptions::cycles(const kernels::offer& made) {
  const auto& args = made.as<cycles_args>();
  return "cycles     " + std::to_string(args.count / args.parts.divisor) + " items of " +
         std::to_string(args.item_bytes) + " bytes, in " + std::to_string(args.parts.divisor) +
         (args.parts.divisor == 1 ? " part\n" : " parts each\n");
}

}  // namespace cornerturn::gpu
