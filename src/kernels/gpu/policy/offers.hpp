// The offer and the description of every GPU family, by its name. A family with rows for batches answers for shapes, too, and lays out
// their tables.
#pragma once

#include <span>
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
#define GPU_BATCH_ROW(name, family, ...)                                                          \
  namespace cornerturn::gpu::batch_offers {                                                       \
  bool family(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row, \
              kernels::offer& made) noexcept;                                                     \
  }                                                                                               \
  namespace cornerturn::gpu::lay_outs {                                                           \
  void family(std::span<const kernels::batch_shape* const> shapes, const kernels::target& on,     \
              const kernels::kernel& row, kernels::batch_tables& made);                           \
  }
#include "kernels/kernels.inc"
