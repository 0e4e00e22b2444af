// The model's counts as a table for tools/ncu_check and tools/rocprof_check: one line per launch of --profile, in its
// order. NVIDIA's loads include asynchronous copies (LDGSTS), as the profiler's op_ld counters do. The last two columns
// contain only the asynchronous copies.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "facts.hpp"
#include "model/occupancy.hpp"

namespace cornerturn::ladder {

// Effect  prints CSV with a header line: for each shape, the rung named (or "all" rungs), if it accepts the shape
// Returns the number of lines
int print_predictions(std::ostream& out, std::string_view rung, int word_bytes, std::span<const matrix_shape> shapes,
                      const model::architecture& machine);

}  // namespace cornerturn::ladder
