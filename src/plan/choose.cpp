// The planner: every row is asked about the facts of a problem, and the cheapest offer wins.
#include "plan/choose.hpp"

#include <algorithm>

#include "kernels/cpu/costs.hpp"
#include "kernels/gpu/policy/costs.hpp"

namespace cornerturn::planning {

namespace {

// Predictions for a GPU that differ by less count as equal, and the earlier row wins. Geometric mean of chosen over best time
// for 1189 problems: 1.0091 without it, 1.0089 with 1.5 %, 1.0099 with 5 % (H200, 2026-11-23). CPU families write measured
// times into their offers, whose small differences are meant.
constexpr double tie_on_gpu = 0.985;

kernels::facts facts_of(const map::canonical& form, const cpu_request& wanted) noexcept {
  kernels::facts known = wanted.math == nullptr ? kernels::facts_of(form) : kernels::facts_of(form, *wanted.math);
  known.threads = std::max(wanted.threads, 1);
  known.beside_bytes = wanted.beside_bytes;
  known.in_place = wanted.in_place;
  known.cycles = wanted.cycles;
  return known;
}

kernels::target target_of(const base::machine& machine) noexcept {
  kernels::target made;
  made.cpu = &machine;
  made.costs = &kernels::cpu::costs_of(machine);
  return made;
}

request request_of(const cpu_request& wanted) noexcept {
  return {.kind = wanted.math != nullptr                                     ? kernels::row_kind::arithmetic
                  : (wanted.in_place != nullptr || wanted.cycles != nullptr) ? kernels::row_kind::in_place
                                                                             : kernels::row_kind::move,
          .kernel = wanted.kernel};
}

bool is_asked(const kernels::kernel& row, const kernels::target& on, const request& wanted) noexcept {
  return row.kind == wanted.kind && kernels::is_of_gpu(row) == (on.cpu == nullptr) && row.offer != nullptr &&
         (wanted.family.empty() || wanted.family == row.family);
}

// is_wide: no address space holds the problem.
bool answers(const kernels::kernel& row, const kernels::facts& known, const kernels::target& on, const request& wanted,
             bool is_wide, kernels::offer& made) noexcept {
  if (!is_asked(row, on, wanted) || (is_wide && !row.any_stride)) return false;
  made.row = &row;
  made.binds = kernels::bound::dram;
  made.reason = "";
  if (!row.offer(known, on, row, made)) return false;
  if (on.costs != nullptr) {
    const bool is_cached = kernels::cpu::fits_cache(known, on);
    const float* const factors = is_cached ? on.costs->cached_factors : on.costs->factors;
    if (factors != nullptr) made.time *= factors[&row - kernels::all().data()];
  }
  return true;
}

// Calls take(offer) for each row that accepts the problem, in the order of the list.
template <class Take>
void ask(const kernels::facts& known, const kernels::target& on, const request& wanted, const Take& take) {
  kernels::offer made;
  const bool is_wide = !fits_address_space(known.form);
  if (!wanted.kernel.empty()) {
    const kernels::kernel* const row = kernels::find(wanted.kernel);
    if (row != nullptr && answers(*row, known, on, wanted, is_wide, made))
      take(static_cast<const kernels::offer&>(made));
    return;
  }
  for (const kernels::kernel& row : kernels::all()) {
    if (!is_asked(row, on, wanted) || row.is_oracle) continue;
    if (answers(row, known, on, wanted, is_wide, made)) take(static_cast<const kernels::offer&>(made));
  }
}

}  // namespace

bool offer_of(const kernels::kernel& row, const kernels::facts& known, const kernels::target& on, const request& wanted,
              kernels::offer& made) noexcept {
  return answers(row, known, on, wanted, !fits_address_space(known.form), made);
}

bool fits_address_space(const map::canonical& form) noexcept {
  const auto fits = [](const map::byte_span& span) { return span.hi - span.lo <= widest_span_bytes; };
  return fits(map::src_span(form)) && fits(map::dst_span(form)) && fits(map::second_span(form));
}

kernels::offer choose(const kernels::facts& known, const kernels::target& on, const request& wanted) noexcept {
  kernels::offer best;
  const double tie = on.cpu == nullptr ? tie_on_gpu : 1;
  ask(known, on, wanted, [&](const kernels::offer& made) {
    if (best.row == nullptr || made.time < tie * best.time) best = made;
  });
  return best;
}

std::vector<kernels::offer> offers(const kernels::facts& known, const kernels::target& on, const request& wanted) {
  std::vector<kernels::offer> all;
  ask(known, on, wanted, [&](const kernels::offer& made) { all.push_back(made); });
  std::stable_sort(all.begin(), all.end(),
                   [](const kernels::offer& a, const kernels::offer& b) { return a.time < b.time; });
  return all;
}

kernels::offer choose(const map::canonical& form, const cpu_request& wanted, const base::machine& machine) noexcept {
  return choose(facts_of(form, wanted), target_of(machine), request_of(wanted));
}

std::vector<kernels::offer> offers(const map::canonical& form, const cpu_request& wanted,
                                   const base::machine& machine) {
  return offers(facts_of(form, wanted), target_of(machine), request_of(wanted));
}

kernels::target target_of(const kernels::gpu_traits& device) noexcept {
  const gpu::device_costs& costs = gpu::costs_for(device);
  kernels::target made{device, nullptr, &costs, nullptr};
  if (made.copy_bytes_per_us == 0) made.copy_bytes_per_us = costs.device.copy_bytes_per_us;
  return made;
}

}  // namespace cornerturn::planning
