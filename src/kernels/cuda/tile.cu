#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/tile.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_tile_b1_256x256_r16_xor, 256, gpu::tile_kernel<1, 16, false>)
CORNERTURN_INSTANCE(cuda_chain_b1_256x256_r16_xor, 256, gpu::tile_kernel<1, 16, true>)
CORNERTURN_INSTANCE(cuda_tile_b2_128x128_r8_xor, 256, gpu::tile_kernel<2, 16, false>)
CORNERTURN_INSTANCE(cuda_chain_b2_128x128_r8_xor, 256, gpu::tile_kernel<2, 16, true>)
CORNERTURN_INSTANCE(cuda_tile_b4_64x64_r4_xor, 256, gpu::tile_kernel<4, 16, false>)
CORNERTURN_INSTANCE(cuda_chain_b4_64x64_r4_xor, 256, gpu::tile_kernel<4, 16, true>)
CORNERTURN_INSTANCE(cuda_tile_b8_64x64_r2_xor, 256, gpu::tile_kernel<8, 32, false>)
CORNERTURN_INSTANCE(cuda_chain_b8_64x64_r2_xor, 256, gpu::tile_kernel<8, 32, true>)
CORNERTURN_INSTANCE(cuda_tile_b1_128x128_r16_xor, 64, gpu::tile_kernel<1, 8, false>)
CORNERTURN_INSTANCE(cuda_chain_b1_128x128_r16_xor, 64, gpu::tile_kernel<1, 8, true>)
CORNERTURN_INSTANCE(cuda_tile_b2_64x64_r8_xor, 64, gpu::tile_kernel<2, 8, false>)
CORNERTURN_INSTANCE(cuda_chain_b2_64x64_r8_xor, 64, gpu::tile_kernel<2, 8, true>)
CORNERTURN_INSTANCE(cuda_tile_b4_32x32_r4_xor, 64, gpu::tile_kernel<4, 8, false>)
CORNERTURN_INSTANCE(cuda_chain_b4_32x32_r4_xor, 64, gpu::tile_kernel<4, 8, true>)
CORNERTURN_INSTANCE(cuda_tile_b8_16x16_r2_xor, 64, gpu::tile_kernel<8, 8, false>)
CORNERTURN_INSTANCE(cuda_chain_b8_16x16_r2_xor, 64, gpu::tile_kernel<8, 8, true>)

}  // namespace cornerturn::kernels
