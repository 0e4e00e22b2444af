#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/swap.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_swap_b1_128x128_r16_xor, 64, gpu::swap_kernel<1, 8>)
CORNERTURN_INSTANCE(cuda_swap_b2_128x128_r8_xor, 256, gpu::swap_kernel<2, 16>)
CORNERTURN_INSTANCE(cuda_swap_b4_64x64_r4_xor, 256, gpu::swap_kernel<4, 16>)
CORNERTURN_INSTANCE(cuda_swap_b8_64x64_r2_xor, 256, gpu::swap_kernel<8, 32>)
CORNERTURN_INSTANCE(cuda_exchange_b1, gpu::exchange_threads, gpu::exchange_kernel<1>)
CORNERTURN_INSTANCE(cuda_exchange_b2, gpu::exchange_threads, gpu::exchange_kernel<2>)
CORNERTURN_INSTANCE(cuda_exchange_b4, gpu::exchange_threads, gpu::exchange_kernel<4>)
CORNERTURN_INSTANCE(cuda_exchange_b8, gpu::exchange_threads, gpu::exchange_kernel<8>)
CORNERTURN_INSTANCE(cuda_exchange_b16, gpu::exchange_threads, gpu::exchange_kernel<16>)

}  // namespace cornerturn::kernels
