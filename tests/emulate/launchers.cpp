// In the tests the launchers of the GPU rows start the emulator. The objects of this folder come before the library's.
#include "emulate/text_rows.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {
#define GPU_ROW(name, ...)                                                                            \
  const char* name(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept { \
    return cornerturn_text::kernels::name(args, blocks, shared_bytes, stream);                        \
  }
#include "kernels/kernels.inc"
}  // namespace cornerturn::kernels
