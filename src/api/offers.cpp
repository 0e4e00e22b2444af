// offers(): the planner's prediction for each kernel, on this computer's CPU, its GPU or a GPU of the cost table.
#include <algorithm>
#include <optional>

#include "api/check.hpp"
#include "api/device.hpp"
#include "api/gpu_plan.hpp"
#include "api/guard.hpp"
#include "api/in_place.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "plan/choose.hpp"

namespace cornerturn {
namespace {

void check(const problem& what) {
  api::check(what);
  if (what.in_place) api::check_in_place(what, map::in_place(map::canonicalize(what)));
}

// Returns the GPU that options.machine names; nothing: the CPU.
std::optional<gpu::device_info> gpu_of(const offer_options& options) {
  if (options.alignment < 1 || options.alignment > 16 || (options.alignment & (options.alignment - 1)) != 0) {
    throw error(status::invalid_argument,
                "alignment is " + std::to_string(options.alignment) + ", wanted 1, 2, 4, 8 or 16");
  }
  if (options.machine == "cpu" || (options.machine.empty() && gpu::device_count() == 0)) return {};
  if (options.machine.empty()) return gpu::info(std::max(gpu::current_device(), 0));
  std::string known = "cpu";
  for (const gpu::device_costs& row : gpu::all_costs()) {
    if (options.machine == row.name) {
      return gpu::info_of(row);
    }
    known += ", " + std::string(row.name);
  }
  throw error(status::invalid_argument, "machine is \"" + options.machine + "\", wanted one of: " + known);
}

plan_offer offer_of(const kernels::offer& made) {
  const auto& [traffic, wasted_sectors, requests, wavefronts, instructions] = made.counts;
  return {made.row->name,
          made.time,
          kernels::name(made.binds),
          made.reason,
          {traffic, wasted_sectors, requests, wavefronts, instructions}};
}

std::vector<plan_offer> offers_of_cpu(const problem& what, int threads) {
  api::check_device(device::cpu, threads);
  const map::canonical form = map::canonicalize(what);
  const kernels::op math = kernels::op_of(what.math, what.element_bytes);
  map::in_place_form places;
  planning::cpu_request wanted{.threads = threads == 0 ? base::default_threads() : threads};
  if (!map::only_moves(what)) wanted.math = &math;
  if (what.in_place) {
    places = map::in_place(form);
    if (places.kind == map::in_place_kind::rectangle) return {};
    wanted.in_place = &places;
  }
  std::vector<plan_offer> found;
  for (const kernels::offer& made : planning::offers(form, wanted, base::this_machine())) {
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
    const std::optional<gpu::device_info> on = gpu_of(options);
    return on ? offers_of_gpu(what, *on, options.alignment) : offers_of_cpu(what, options.threads);
  });
}

std::string explain(const problem& what, const offer_options& options) {
  return api::guarded([&] {
    check(what);
    const std::optional<gpu::device_info> on = gpu_of(options);
    if (!on) return plan(what, {.device = device::cpu, .threads = options.threads}).explain();
    const running::gpu_variant made = running::choose_variant(what, on->traits, options.alignment, {});
    detail::check_fits(made);
    return detail::explain(what, {made, made}, *on);
  });
}

}  // namespace cornerturn
