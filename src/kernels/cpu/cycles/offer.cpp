// In place: the elements of a packed rectangle are moved along the cycles of the transpose.
#include <algorithm>

#include "kernels/cpu/cycles/args.hpp"
#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::cycles {

void fill(offer& made, const item_cycles& items, std::int64_t item_bytes, int threads,
          const cpu_costs& costs) noexcept {
  auto& work = made.emplace<args>();
  work.items = items;
  work.item_bytes = item_bytes;
  made.threads = threads_for(2 * items.inner * items.outer * item_bytes, threads, costs);
  work.walkers = made.units = made.threads;
  work.prefetches_to_l2 = costs.cycles_through_l2;
  // Items of 2 KB take 1.3 times the time of a rewrite, items of 800 bytes 1.6 to 1.9 (SPR, one thread, 2026-11-22).
  made.time = 1.1 + 450 / static_cast<double>(item_bytes);
  made.binds = item_bytes < 1024 ? bound::requests : bound::dram;
  made.reason = "each item goes to the place that another item has just left";
}

bool offer_cycles(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.in_place == nullptr || known.in_place->kind != map::in_place_kind::rectangle) return false;
  const map::in_place_form& places = *known.in_place;
  const std::int64_t element = places.unit * known.form.word_bytes;
  fill(made, {.row_bytes = element, .inner = places.cols, .outer = places.rows}, element, known.threads,
       costs_of(*on.cpu));
  return true;
}

}  // namespace cornerturn::kernels::cpu::cycles
