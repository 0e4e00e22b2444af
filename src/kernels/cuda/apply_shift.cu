#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/apply_shift.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

#define CORNERTURN_APPLY_SHIFT(name, ...)                                  \
  CORNERTURN_INSTANCE(name, (gpu::apply_shift_tile<__VA_ARGS__>::threads), \
                      gpu::apply_shift_kernel<gpu::apply_shift_tile<__VA_ARGS__>>)

CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b2_b1, 2, 1)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b2_b2, 2, 2)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b2_b4, 2, 4)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b4_b1, 4, 1)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b4_b2, 4, 2)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b4_b4, 4, 4)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b4_b8, 4, 8)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b8_b4, 8, 4)
CORNERTURN_APPLY_SHIFT(cuda_apply_shift_b8_b8, 8, 8)

}  // namespace cornerturn::kernels
