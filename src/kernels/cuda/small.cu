#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/small.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_small_b2_64x64, gpu::small_tile<2>::threads, gpu::small_kernel<2>)
CORNERTURN_INSTANCE(cuda_small_b4_32x32, gpu::small_tile<4>::threads, gpu::small_kernel<4>)
CORNERTURN_INSTANCE(cuda_small_b8_16x16, gpu::small_tile<8>::threads, gpu::small_kernel<8>)

}  // namespace cornerturn::kernels
