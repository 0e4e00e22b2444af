// Problems for a row: for tests and for the profiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace cornerturn::trace {

struct named_case : row_case {
  std::string text;  // 2x500x300/0,2,1+ld3@1
};

// Up to `count` different problems that start the row on this machine: alone, as a part of a program in place, or as a batch.
// Each launch has few enough blocks to be counted exactly. The list is the same each time. Not thread-safe.
[[nodiscard]] std::vector<named_case> cases_for(std::string_view row, int count, const model::architecture& machine);

}  // namespace cornerturn::trace
