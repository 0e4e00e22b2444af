// Rows of the registry that need instructions which a machine may not have.
#pragma once

#include <string_view>

#include "kernels/cpu/dispatch.hpp"

namespace cornerturn::testing {

// True when this build and this machine have the instructions that the note of a row asks for.
inline bool has_instructions(std::string_view note) {
  if (note.ends_with("(AVX-512)")) return kernels::cpu::stores_lines_from_registers();
  return !note.ends_with("(AVX-512 VBMI)") || kernels::cpu::selects_bytes();
}

// The problem as C++ code, so that a failure can be pasted into a test.

}  // namespace cornerturn::testing
