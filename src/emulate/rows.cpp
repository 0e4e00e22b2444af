#include "emulate/rows.hpp"

#include "emulate/text_rows.hpp"

namespace cornerturn::emulated {

row_function find_row(std::string_view name) noexcept {
#define GPU_ROW(row, ...) \
  if (name == #row) return &cornerturn_text::kernels::row;
#include "kernels/kernels.inc"
  return nullptr;
}

}  // namespace cornerturn::emulated
