#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/strips.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_strips_b1_256x256_r16_xor, 256, gpu::strips_kernel<1, 16>)
CORNERTURN_INSTANCE(cuda_strips_b2_128x128_r8_xor, 256, gpu::strips_kernel<2, 16>)
CORNERTURN_INSTANCE(cuda_strips_b4_64x64_r4_xor, 256, gpu::strips_kernel<4, 16>)
CORNERTURN_INSTANCE(cuda_strips_b8_64x64_r2_xor, 256, gpu::strips_kernel<8, 32>)
CORNERTURN_INSTANCE(cuda_strips_b1_128x128_r16_xor, 64, gpu::strips_kernel<1, 8>)
CORNERTURN_INSTANCE(cuda_strips_b2_64x64_r8_xor, 64, gpu::strips_kernel<2, 8>)
CORNERTURN_INSTANCE(cuda_strips_b4_32x32_r4_xor, 64, gpu::strips_kernel<4, 8>)
CORNERTURN_INSTANCE(cuda_strips_b8_16x16_r2_xor, 64, gpu::strips_kernel<8, 8>)
CORNERTURN_INSTANCE(cuda_strips_shift_b1, gpu::shift_tile<1>::threads, gpu::strips_shift_kernel<1>)
CORNERTURN_INSTANCE(cuda_strips_shift_b2, gpu::shift_tile<2>::threads, gpu::strips_shift_kernel<2>)
CORNERTURN_INSTANCE(cuda_strips_shift_b4, gpu::shift_tile<4>::threads, gpu::strips_shift_kernel<4>)
CORNERTURN_INSTANCE(cuda_strips_shift_b8, gpu::shift_tile<8>::threads, gpu::strips_shift_kernel<8>)

}  // namespace cornerturn::kernels
