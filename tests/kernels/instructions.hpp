// Rows of the registry that need instructions which a machine may not have.
#pragma once

#include <string_view>

#include "kernels/cpu/dispatch.hpp"

namespace cornerturn::testing {

// True when the SIMD target has the instructions that the note of a row asks for.
inline bool has_instructions(std::string_view note, base::simd_target on = kernels::cpu::simd_in_use()) {
  if (note.ends_with("(AVX-512)")) return kernels::cpu::stores_lines_from_registers(on);
  return !note.ends_with("(AVX-512 VBMI)") || kernels::cpu::selects_bytes(on);
}

// The problem as C++ code, so that a failure can be pasted into a test.

}  // namespace cornerturn::testing
