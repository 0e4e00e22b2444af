// Problems in place on the CPU: the check of their permutation, and the text of their programs.
#pragma once

#include <string>

#include "cornerturn/problem.hpp"
#include "map/in_place.hpp"
#include "plan/in_place_cpu.hpp"

namespace cornerturn::api {

// Errors  invalid_argument: the kind is impossible; the sentence names an axis of the problem
void check_in_place(const problem& what, const map::in_place_form& permutation);

// Returns the part of plan.explain() about the programs.
[[nodiscard]] std::string explain(const planning::in_place_choice& chosen);

}  // namespace cornerturn::api
