// The CuTe rungs as plain C++ sees them, in builds that found CUTLASS: CORNERTURN_CUTE.
#pragma once

#include <vector>

#include "../ladder.hpp"
#include "../launch.hpp"

namespace cornerturn::ladder {

[[nodiscard]] std::vector<description> cute_descriptions();
[[nodiscard]] std::vector<launcher> cute_launchers();

}  // namespace cornerturn::ladder
