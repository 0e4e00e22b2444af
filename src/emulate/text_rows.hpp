// The launch functions of the GPU rows that the emulator compiled, with -Dcornerturn=cornerturn_text.
#pragma once

#include <cstdint>

namespace cornerturn_text::kernels {
#define GPU_ROW(name, ...) \
  const char* name(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;
#include "kernels/kernels.inc"
}  // namespace cornerturn_text::kernels
