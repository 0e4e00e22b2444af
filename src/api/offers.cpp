// offers(): the planner's prediction for each kernel, on this computer's CPU, its GPU, or a machine of the cost tables.
#include <algorithm>

#include "api/check.hpp"
#include "api/device.hpp"
#include "api/gpu_plan.hpp"
#include "api/guard.hpp"
#include "api/in_place.hpp"
#include "api/machine.hpp"
#include "api/plan_state.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "plan/choose.hpp"

namespace cornerturn {
namespace {

void check(const problem& what) {
  api::check(what);
  if (what.in_place) api::check_in_place(what, map::in_place(map::canonicalize(what)));
}

api::named_machine machine_of(const offer_options& options) {
  if (options.alignment < 1 || options.alignment > 16 || (options.alignment & (options.alignment - 1)) != 0) {
    throw error(status::invalid_argument,
                "alignment is " + std::to_string(options.alignment) + ", wanted 1, 2, 4, 8 or 16");
  }
  api::check_device(device::cpu, options.threads);
  return api::find_machine(options.machine, options.threads);
}

plan_offer offer_of(const kernels::offer& made) {
  const auto& [traffic, wasted_sectors, requests, wavefronts, instructions] = made.counts;
  return {made.row->name,
          made.time,
          kernels::name(made.binds),
          made.reason,
          {traffic, wasted_sectors, requests, wavefronts, instructions}};
}

std::vector<plan_offer> offers_of_cpu(const problem& what, const api::named_machine& on) {
  const map::canonical form = map::canonicalize(what);
  const kernels::op math = kernels::op_of(what.math, what.element_bytes);
  map::in_place_form places;
  planning::cpu_request wanted{.threads = on.threads};
  if (!map::only_moves(what)) wanted.math = &math;
  if (what.in_place) {
    places = map::in_place(form);
    if (places.kind == map::in_place_kind::rectangle) return {};
    wanted.in_place = &places;
  }
  std::vector<plan_offer> found;
  for (const kernels::offer& made : planning::offers(form, wanted, on.cpu)) {
    found.push_back(offer_of(made));
  }
  return found;
}

std::vector<plan_offer> offers_of_gpu(const problem& what, const gpu::device_info& on, int alignment) {
  std::vector<plan_offer> found;
  running::each_gpu_offer(what, on.traits, alignment,
                          [&](const kernels::offer& made) { found.push_back(offer_of(made)); });
  std::stable_sort(found.begin(), found.end(),
                   [](const plan_offer& a, const plan_offer& b) { return a.time < b.time; });
  return found;
}

}  // namespace

std::vector<plan_offer> offers(const problem& what, const offer_options& options) {
  return api::guarded([&] {
    check(what);
    const api::named_machine on = machine_of(options);
    return on.gpu ? offers_of_gpu(what, *on.gpu, options.alignment) : offers_of_cpu(what, on);
  });
}

std::string explain(const problem& what, const offer_options& options) {
  return api::guarded([&] {
    check(what);
    const api::named_machine on = machine_of(options);
    if (!on.gpu) {
      const auto of_tuning = on.title.empty() ? detail::findings::use : detail::findings::ignore;
      const plan_options how{.device = device::cpu, .threads = on.threads};
      return on.title + detail::plan_state(what, how, of_tuning, on.cpu).explain();
    }
    const running::gpu_variant made = running::choose_variant(what, on.gpu->traits, options.alignment, {});
    detail::check_fits(made);
    return detail::explain(what, {{made}}, *on.gpu);
  });
}

}  // namespace cornerturn
