// The model's numbers as a table for tools/ncu_check and tools/rocprof_check: a line for each launch of --profile, in its
// order. NVIDIA's loads include asynchronous copies (LDGSTS), as the profiler's counters op_ld do. The last two columns
// have the asynchronous copies alone.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "facts.hpp"
#include "model/occupancy.hpp"

namespace cornerturn::ladder {

// Effect  CSV with a head line: each shape, each rung named (or "all") that takes it
// Returns how many lines there are
int print_predictions(std::ostream& out, std::string_view rung, int word_bytes, std::span<const matrix_shape> shapes,
                      const model::architecture& machine);

}  // namespace cornerturn::ladder
