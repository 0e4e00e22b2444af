// How a problem whose src is its dst moves: programs of steps, each a kernel over the array and the workspace.
#pragma once

#include <cstdint>
#include <vector>

#include "map/in_place.hpp"
#include "plan/choose.hpp"
#include "plan/strips.hpp"

namespace cornerturn::planning {

// Steps in order, once for each index of `repeat`, whose strides are bytes of the array.
struct in_place_program {
  kernels::chain repeat;
  std::int64_t begin = 0;  // bytes from the word of index 0
  std::vector<in_place_step> steps;
};

struct in_place_choice {
  std::vector<choice> moves;  // a step's kernel has `run`, which moves from one place to another, or `turn`
  std::vector<in_place_program> programs;
  const kernels::kernel* kernel = nullptr;  // that does what cannot be done out of place; null: see `line`
  int line = 0;                             // of the decision list; 0: no line moves it, or not with the forced row
  const char* reason = "";
  int passes = 0;  // over all of the array
  int threads = 1;
  std::int64_t workspace_bytes = 0;
};

// Requires  kind is not impossible
[[nodiscard]] in_place_choice choose_in_place(const map::canonical& form, const map::in_place_form& places,
                                              const request& wanted, const base::machine& machine);

}  // namespace cornerturn::planning
