#include "trace/tally.hpp"

namespace cornerturn::trace {

tally::tally(const model::memory_rules& rules, bool has_async_copy) : rules_(rules), has_async_copy_(has_async_copy) {
  for (model::global_count* one : {&counts.load, &counts.store, &counts.async_load}) one->line_bytes = rules.line_bytes;
}

void tally::on_request(void* context, const emulated::request& one) {
  auto* const to = static_cast<tally*>(context);
  to->add(one, to->weight);
}

void tally::add(const emulated::request& one, std::int64_t times) {
  using emulated::access;
  if (one.what == access::atomic) {
    atomics += times;
    return;
  }
  const auto made = [&](bool in_shared, bool stores) {
    model::warp_access all;
    all.lane_bytes = one.lane_bytes;
    all.stores = stores;
    for (const emulated::lane_access& lane : one.lanes) {
      all.set(lane.lane, static_cast<std::int64_t>(in_shared ? lane.shared : lane.global));
    }
    return all;
  };
  switch (one.what) {
    case access::global_load:
      return add_global(counts.load, made(false, false), times);
    case access::global_store:
      return add_global(counts.store, made(false, true), times);
    case access::async_copy:  // through registers, if the machine has no other way
      add_global(has_async_copy_ ? counts.async_load : counts.load, made(false, false), times);
      return add_shared(has_async_copy_ ? counts.async_store : counts.shared_store, made(true, true), times);
    case access::shared_load:
      return add_shared(counts.shared_load, made(true, false), times);
    case access::shared_store:
      return add_shared(counts.shared_store, made(true, true), times);
    case access::atomic:
    case access::barrier:
      return;
  }
}

void tally::add_global(model::global_count& to, const model::warp_access& made, std::int64_t times) const {
  to.requests += times;
  to.lines += model::lines(made, rules_.line_bytes) * times;
  to.bytes += model::used_bytes(made) * times;
}

void tally::add_shared(model::shared_count& to, const model::warp_access& made, std::int64_t times) const {
  const model::bank_cycles cycles = model::shared_cycles(made, rules_);
  to.requests += times;
  to.cycles += cycles.taken * times;
  to.conflicts += cycles.conflicts * times;
}

}  // namespace cornerturn::trace
