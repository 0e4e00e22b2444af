// Problems in place on the CPU: checks them and runs their programs.
#pragma once

#include <cstddef>
#include <string>

#include "cornerturn/plan.hpp"
#include "map/in_place.hpp"
#include "plan/in_place.hpp"

namespace cornerturn::api {

// Errors  invalid_argument: the kind is impossible; the sentence names an axis of the problem
void check_in_place(const problem& what, const map::in_place_form& permutation);

// Effect  runs the programs; data points at the word of index 0, workspace has chosen.workspace_bytes
void run_in_place(const planning::in_place_choice& chosen, std::byte* data, std::byte* workspace,
                  const executor& parallel);

// Returns the part of plan.explain() about the programs.
[[nodiscard]] std::string explain(const planning::in_place_choice& chosen);

}  // namespace cornerturn::api
