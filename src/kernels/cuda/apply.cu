#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/apply.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_apply_b1_b1_128x128_r16_xor, 64, gpu::apply_kernel<1, 1, 8>)
CORNERTURN_INSTANCE(cuda_apply_b2_b1_128x128_r8_xor, 256, gpu::apply_kernel<2, 1, 16>)
CORNERTURN_INSTANCE(cuda_apply_b2_b1_64x64_r8_xor, 64, gpu::apply_kernel<2, 1, 8>)
CORNERTURN_INSTANCE(cuda_apply_b2_b2_128x128_r8_xor, 256, gpu::apply_kernel<2, 2, 16>)
CORNERTURN_INSTANCE(cuda_apply_b2_b4_128x128_r8_xor, 256, gpu::apply_kernel<2, 4, 16>)
CORNERTURN_INSTANCE(cuda_apply_b4_b1_128x128_r4_xor, 256, gpu::apply_kernel<4, 1, 32>)
CORNERTURN_INSTANCE(cuda_apply_b4_b2_64x64_r4_xor, 256, gpu::apply_kernel<4, 2, 16>)
CORNERTURN_INSTANCE(cuda_apply_b4_b4_64x64_r4_xor, 256, gpu::apply_kernel<4, 4, 16>)
CORNERTURN_INSTANCE(cuda_apply_b4_b8_64x64_r4_xor, 256, gpu::apply_kernel<4, 8, 16>)
CORNERTURN_INSTANCE(cuda_apply_b8_b4_64x64_r2_xor, 256, gpu::apply_kernel<8, 4, 32>)
CORNERTURN_INSTANCE(cuda_apply_b8_b8_64x64_r2_xor, 256, gpu::apply_kernel<8, 8, 32>)
CORNERTURN_INSTANCE(cuda_apply_b16_b16_32x32_r1_xor, 256, gpu::apply_kernel<16, 16, 32>)

}  // namespace cornerturn::kernels
