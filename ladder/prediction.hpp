// The model's numbers as a table for tools/ncu_check: a line for each launch of --profile, in its order. Loads are what
// the counters op_ld hold: asynchronous copies (LDGSTS) too, which the last two columns have once more by themselves.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "facts.hpp"

namespace cornerturn::ladder {

// Effect  CSV with a head line: each shape, each rung named (or "all") that takes it
// Returns how many lines there are
int print_predictions(std::ostream& out, std::string_view rung, int word_bytes, std::span<const matrix_shape> shapes);

}  // namespace cornerturn::ladder
