#include "emulate/rows.hpp"

// The functions that the instances define, compiled with -Dcornerturn=cornerturn_text.
namespace cornerturn_text::kernels {
#define GPU_ROW(name, ...) \
  const char* name(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;
#define GPU_BATCH_ROW GPU_ROW
#define GPU_IN_PLACE_ROW GPU_ROW
#define GPU_ARITHMETIC_ROW GPU_ROW
#include "kernels/kernels.inc"
#undef GPU_ROW
}  // namespace cornerturn_text::kernels

namespace cornerturn::emulated {

row_function find_row(std::string_view name) noexcept {
#define GPU_ROW(row, ...) \
  if (name == #row) return &cornerturn_text::kernels::row;
#include "kernels/kernels.inc"
  return nullptr;
}

}  // namespace cornerturn::emulated
