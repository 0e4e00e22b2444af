// The CuTe rungs for plain C++ code, in builds with CUTLASS (CORNERTURN_CUTE).
#pragma once

#include <vector>

#include "../ladder.hpp"
#include "../launch.hpp"

namespace cornerturn::ladder {

[[nodiscard]] std::vector<description> cute_descriptions();
[[nodiscard]] std::vector<launcher> cute_launchers();

}  // namespace cornerturn::ladder
