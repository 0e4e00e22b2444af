// In place: items are moved along the cycles of a permutation. They are the elements of a packed rectangle, or columns of its strips.
#include <algorithm>

#include "kernels/cpu/cycles/args.hpp"
#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::cycles {

bool offer_cycles(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<args>();
  if (known.cycles != nullptr) {
    work.items = *known.cycles;
  } else if (known.in_place != nullptr && known.in_place->kind == map::in_place_kind::rectangle) {
    const map::in_place_form& places = *known.in_place;
    work.items.item_bytes = work.items.row_bytes = places.unit * known.form.word_bytes;
    work.items.inner = places.cols;
    work.items.outer = places.rows;
  } else {
    return false;
  }
  const std::int64_t item_bytes = work.items.item_bytes;
  made.threads = threads_for(2 * work.items.slots() * item_bytes, known.threads, costs);
  work.walkers = made.units = made.threads;
  work.prefetches_to_l2 = costs.cycles_through_l2;
  made.flag_bytes = cycle_flags_bytes(work);
  // Items of 2 KB take 1.3 times the time of a rewrite, items of 800 bytes 1.6 to 1.9 (SPR, one thread, 2026-11-22).
  made.time = 1.1 + 450 / static_cast<double>(item_bytes);
  made.binds = item_bytes < 1024 ? bound::requests : bound::dram;
  made.reason = "each item goes to the place that another item has just left";
  return true;
}

}  // namespace cornerturn::kernels::cpu::cycles
