// The planner's answers for a GPU that need not be there.
#pragma once

#include <string_view>

#include "kernels/gpu/policy/costs.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"
#include "map/in_place.hpp"
#include "plan/choose.hpp"

namespace cornerturn::testing {

// An H200 and pointers that are multiples of 16 bytes, unless a test says otherwise.
struct gpu_wish {
  int multiprocessors = 132;
  std::int64_t shared_bytes = 227 << 10;
  int alignment = 16;
  std::string_view kernel{};                 // force this row
  const gpu::device_costs* costs = nullptr;  // null: of sm_90
  int store_bytes = 32;
};

inline kernels::target target_of(const gpu_wish& wanted) {
  kernels::target on =
      planning::target_of({.arch = 90, .multiprocessors = wanted.multiprocessors, .shared_bytes = wanted.shared_bytes});
  if (wanted.costs != nullptr) on.gpu = wanted.costs;
  on.store_bytes = wanted.store_bytes;
  return on;
}

inline kernels::facts facts_of(const map::canonical& form, const gpu_wish& wanted) {
  kernels::facts known = kernels::facts_of(form);
  known.alignment = wanted.alignment;
  return known;
}

inline kernels::offer choose_move(const map::canonical& form, const gpu_wish& wanted) {
  return planning::choose(facts_of(form, wanted), target_of(wanted), {.kernel = wanted.kernel});
}

inline kernels::offer choose_apply(const map::canonical& form, const kernels::op& math, const gpu_wish& wanted) {
  kernels::facts known = facts_of(form, wanted);
  known.math = math;
  return planning::choose(known, target_of(wanted), {.kind = kernels::row_kind::arithmetic, .kernel = wanted.kernel});
}

inline kernels::offer choose_in_place(const map::canonical& form, const map::in_place_form& places,
                                      const gpu_wish& wanted) {
  kernels::facts known = facts_of(form, wanted);
  if (places.kind == map::in_place_kind::nothing) {
    known.form.empty = true;
    return planning::choose(known, target_of(wanted), {.kernel = wanted.kernel});
  }
  known.in_place = &places;
  return planning::choose(known, target_of(wanted), {.kind = kernels::row_kind::in_place, .kernel = wanted.kernel});
}

}  // namespace cornerturn::testing
