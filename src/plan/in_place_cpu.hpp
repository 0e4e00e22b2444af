// How a problem whose src is its dst runs on the CPU (rectangle_gpu.hpp has the GPU): programs of steps, each a kernel over the
// array and the workspace.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/fused_axes.hpp"
#include "map/in_place.hpp"
#include "plan/choose.hpp"
#include "plan/strip_program.hpp"

namespace cornerturn::planning {

// Steps in order, once for each index of `repeat`, whose strides are bytes of the array.
struct in_place_program {
  kernels::fused_axes repeat;
  std::int64_t begin = 0;  // bytes from the word of index 0
  std::vector<in_place_step> steps;
  // Threads that share the repeats, each with `workspace_bytes` of its own. 1: the threads of the moves share each step.
  int threads = 1;
  std::int64_t workspace_bytes = 0;
};

// Which program: the cheapest one that fits the workspace.
enum class in_place_way : std::uint8_t {
  none,        // no row accepts the problem
  nothing,     // every element is where it belongs
  swapped,     // pairs of places are swapped
  buffered,    // transposed out of place into the workspace, and copied back
  cycles,      // each element follows its cycle
  row_strips,  // strips of rows are transposed out of place, each over a strip that was read before; then cycles
  col_strips,  // row_strips backwards: cycles first, then strips of columns
  reference,   // the oracle
};

struct in_place_choice {
  std::vector<kernels::offer> moves;
  std::vector<in_place_program> programs;
  const kernels::kernel* kernel = nullptr;  // the row in place, or the row that transposes; null: none
  in_place_way way = in_place_way::none;
  const char* reason = "";
  double time = 0;  // predicted; 1: the time of a copy
  int passes = 0;   // over all of the array
  int threads = 1;
  std::int64_t workspace_bytes = 0;

  // Effect  returns the only step of the only program, if it needs no workspace and its offsets are 0; else null
  [[nodiscard]] const kernels::offer* only_step() const noexcept;
};

// Requires  kind is not impossible
[[nodiscard]] in_place_choice choose_in_place(const map::canonical& form, const map::in_place_form& places,
                                              const cpu_request& wanted, const base::machine& machine);

}  // namespace cornerturn::planning
