// Programs in place on the CPU.
#pragma once

#include <cstddef>
#include <span>

#include "cornerturn/plan.hpp"
#include "plan/in_place_cpu.hpp"

namespace cornerturn::running {

// Effect  runs the programs; data points at the word of index 0. With an empty workspace, it takes memory for the time of the call
// Requires  else a workspace of chosen.workspace_bytes
// Errors  out_of_memory
void run_in_place(const planning::in_place_choice& chosen, std::byte* data, std::span<std::byte> workspace,
                  const executor& parallel);

}  // namespace cornerturn::running
