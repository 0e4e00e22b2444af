// The rungs' own text, compiled for the emulator: a table of functions, each of which runs one rung on a matrix.
#pragma once

#include <vector>

#include "ladder/emulated/run.hpp"

namespace cornerturn::ladder {

[[nodiscard]] std::vector<text> texts();

}  // namespace cornerturn::ladder
