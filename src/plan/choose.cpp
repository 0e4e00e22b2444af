// The planner: every row is asked about the facts of a problem, and the cheapest offer wins.
#include "plan/choose.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/gpu/policy/costs.hpp"

namespace cornerturn::planning {
namespace {

// Copies an offer without the unused end of its arguments: most take a fraction of the room.
void copy(kernels::offer& to, const kernels::offer& from) noexcept {
  std::memcpy(static_cast<void*>(&to), &from, offsetof(kernels::offer, args) + from.args_bytes);
}

// Predictions for a GPU that differ by less count as equal, and the earlier row wins. Geometric mean of chosen over best time
// for 1189 problems: 1.0091 without it, 1.0089 with 1.5 %, 1.0099 with 5 % (H200, 2026-11-23). CPU families write measured
// times into their offers, whose small differences are meant.
constexpr double tie_on_gpu = 0.985;

kernels::facts facts_of(const map::canonical& form, const cpu_request& wanted) noexcept {
  kernels::facts known = wanted.math == nullptr ? kernels::facts_of(form) : kernels::facts_of(form, *wanted.math);
  known.threads = std::max(wanted.threads, 1);
  known.beside_bytes = wanted.beside_bytes;
  known.in_place = wanted.in_place;
  return known;
}

request request_of(const cpu_request& wanted) noexcept {
  return {.kind = wanted.math != nullptr       ? kernels::row_kind::arithmetic
                  : wanted.in_place != nullptr ? kernels::row_kind::in_place
                                               : kernels::row_kind::move,
          .kernel = wanted.kernel};
}

bool is_asked(const kernels::kernel& row, const kernels::target& on, const request& wanted) noexcept {
  if (row.kind != wanted.kind || row.offer == nullptr || kernels::is_of_gpu(row) != (on.cpu == nullptr)) return false;
  if (!wanted.family.empty() && wanted.family != row.family) return false;
  if (!wanted.kernel.empty()) return wanted.kernel == row.name;
  return kernels::is_of_gpu(row) || std::string_view(row.family) != "reference";
}

// Calls take(offer) for each row that accepts the problem, in the order of the list.
template <class Take>
void ask(const kernels::facts& known, const kernels::target& on, const request& wanted, const Take& take) {
  kernels::offer made;
  for (const kernels::kernel& row : kernels::all()) {
    if (!is_asked(row, on, wanted)) continue;
    made.row = &row;
    made.binds = kernels::bound::dram;
    made.reason = "";
    if (row.offer(known, on, row, made)) take(static_cast<const kernels::offer&>(made));
  }
}

}  // namespace

kernels::offer choose(const kernels::facts& known, const kernels::target& on, const request& wanted) noexcept {
  kernels::offer best;
  const double tie = on.cpu == nullptr ? tie_on_gpu : 1;
  ask(known, on, wanted, [&](const kernels::offer& made) {
    if (best.row == nullptr || made.time < tie * best.time) copy(best, made);
  });
  return best;
}

std::vector<kernels::offer> offers(const kernels::facts& known, const kernels::target& on, const request& wanted) {
  std::vector<kernels::offer> all;
  ask(known, on, wanted, [&](const kernels::offer& made) { copy(all.emplace_back(), made); });
  std::stable_sort(all.begin(), all.end(),
                   [](const kernels::offer& a, const kernels::offer& b) { return a.time < b.time; });
  return all;
}

kernels::offer choose(const map::canonical& form, const cpu_request& wanted, const base::machine& machine) noexcept {
  return choose(facts_of(form, wanted), {.cpu = &machine}, request_of(wanted));
}

std::vector<kernels::offer> offers(const map::canonical& form, const cpu_request& wanted,
                                   const base::machine& machine) {
  return offers(facts_of(form, wanted), {.cpu = &machine}, request_of(wanted));
}

kernels::target target_of(int arch, int multiprocessors, std::int64_t shared_bytes) noexcept {
  kernels::target made;
  made.arch = arch;
  made.multiprocessors = multiprocessors;
  made.shared_bytes = shared_bytes;
  made.gpu = &gpu::costs_for(arch);
  return made;
}

}  // namespace cornerturn::planning
