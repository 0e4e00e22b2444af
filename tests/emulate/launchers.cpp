// In the tests the launchers of the GPU rows start the emulator. The objects of this folder come before the library's.
#include "kernels/kernel.hpp"

namespace cornerturn_text::kernels {
#define GPU_ROW(name, ...) \
  const char* name(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;
#define GPU_BATCH_ROW GPU_ROW
#define GPU_IN_PLACE_ROW GPU_ROW
#define GPU_ARITHMETIC_ROW GPU_ROW
#include "kernels/kernels.inc"
#undef GPU_ROW
#undef GPU_BATCH_ROW
#undef GPU_IN_PLACE_ROW
#undef GPU_ARITHMETIC_ROW
}  // namespace cornerturn_text::kernels

namespace cornerturn::kernels {
#define GPU_ROW(name, ...)                                                                            \
  const char* name(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept { \
    return cornerturn_text::kernels::name(args, blocks, shared_bytes, stream);                        \
  }
#define GPU_BATCH_ROW GPU_ROW
#define GPU_IN_PLACE_ROW GPU_ROW
#define GPU_ARITHMETIC_ROW GPU_ROW
#include "kernels/kernels.inc"
#undef GPU_ROW
#undef GPU_BATCH_ROW
#undef GPU_IN_PLACE_ROW
#undef GPU_ARITHMETIC_ROW
}  // namespace cornerturn::kernels
