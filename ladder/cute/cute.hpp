// The CuTe rungs for plain C++ code. Both tables are empty in a build without CUTLASS, and the launchers also with HIP.
#pragma once

#include <vector>

#include "../ladder.hpp"
#include "../launch.hpp"

namespace cornerturn::ladder {

[[nodiscard]] std::vector<description> cute_descriptions();
[[nodiscard]] std::vector<launcher> cute_launchers();

}  // namespace cornerturn::ladder
