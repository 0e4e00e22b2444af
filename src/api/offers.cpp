// offers(): what the planner predicts of every GPU kernel, for this machine or one of the cost table.
#include <algorithm>

#include "api/check.hpp"
#include "api/gpu_plan.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "plan/choose.hpp"

namespace cornerturn {
namespace {

gpu::device_info device_of(const offer_options& options) {
  if (options.alignment < 1 || options.alignment > 16 || (options.alignment & (options.alignment - 1)) != 0) {
    throw error(status::invalid_argument,
                "alignment is " + std::to_string(options.alignment) + ", wanted 1, 2, 4, 8 or 16");
  }
  if (options.machine.empty()) {
    if (gpu::device_count() == 0) {
      throw error(status::no_device, "machine is empty, but " + gpu::why_none() + ". Wanted: a row of the cost table");
    }
    return gpu::info(std::max(gpu::current_device(), 0));
  }
  std::string known;
  for (const gpu::device_costs& row : gpu::all_costs()) {
    if (options.machine == row.name) {
      return {.name = row.name,
              .arch = row.device_arch,
              .multiprocessors = row.multiprocessors,
              .shared_bytes = row.shared_bytes};
    }
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw error(status::invalid_argument, "machine is \"" + options.machine + "\", wanted one of: " + known);
}

}  // namespace

std::vector<plan_offer> offers(const problem& what, const offer_options& options) {
  api::check(what);
  const gpu::device_info on = device_of(options);
  std::vector<plan_offer> found;
  for (const kernels::kernel& row : kernels::all()) {
    if (!kernels::is_of_gpu(row) || row.kind == kernels::row_kind::batch) continue;
    if (what.in_place && row.kind == kernels::row_kind::in_place && row.family == std::string_view("cycles")) continue;
    const detail::gpu_variant made = detail::prepare(what, on, options.alignment, row.name);
    if (made.chosen.row == nullptr || made.rectangle != nullptr) continue;
    plan_offer one{made.chosen.row->name, made.chosen.time, kernels::name(made.chosen.binds), made.chosen.reason};
    std::copy(std::begin(made.chosen.counts), std::end(made.chosen.counts), one.counts);
    found.push_back(one);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const plan_offer& a, const plan_offer& b) { return a.time < b.time; });
  return found;
}

std::string explain(const problem& what, const offer_options& options) {
  api::check(what);
  const gpu::device_info on = device_of(options);
  const detail::gpu_variant made = detail::prepare(what, on, options.alignment, {});
  return detail::explain(what, {made, made}, on);
}

}  // namespace cornerturn
