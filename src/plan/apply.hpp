// Which kernel computes a problem with math, and how the work is cut: the decision list of apply.cpp.
#pragma once

#include "plan/choose.hpp"

namespace cornerturn::planning {

// form: of a problem with that math. The choice has no kernel where the row that is asked for computes nothing.
[[nodiscard]] choice choose_apply(const map::canonical& form, const kernels::op& math, const request& wanted,
                                  const base::machine& machine) noexcept;

}  // namespace cornerturn::planning
