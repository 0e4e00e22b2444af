// The offer and the description of every GPU family, by its name.
#pragma once

#include <string>

#include "kernels/kernel.hpp"

#define GPU_ROW(name, family, ...)                                                                \
  namespace cornerturn::gpu::offers {                                                             \
  bool family(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row, \
              kernels::offer& made) noexcept;                                                     \
  }                                                                                               \
  namespace cornerturn::gpu::descriptions {                                                       \
  std::string family(const kernels::offer& made);                                                 \
  }
#include "kernels/kernels.inc"
