#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/blocks.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_blocks_b1, gpu::blocks_tile<1>::threads, gpu::blocks_kernel<1>)
CORNERTURN_INSTANCE(cuda_blocks_b2, gpu::blocks_tile<2>::threads, gpu::blocks_kernel<2>)
CORNERTURN_INSTANCE(cuda_blocks_b4, gpu::blocks_tile<4>::threads, gpu::blocks_kernel<4>)
CORNERTURN_INSTANCE(cuda_blocks_b8, gpu::blocks_tile<8>::threads, gpu::blocks_kernel<8>)
CORNERTURN_INSTANCE(cuda_blocks_batch_b1, gpu::blocks_tile<1>::threads, gpu::blocks_batch_kernel<1>)
CORNERTURN_INSTANCE(cuda_blocks_batch_b2, gpu::blocks_tile<2>::threads, gpu::blocks_batch_kernel<2>)
CORNERTURN_INSTANCE(cuda_blocks_batch_b4, gpu::blocks_tile<4>::threads, gpu::blocks_batch_kernel<4>)
CORNERTURN_INSTANCE(cuda_blocks_batch_b8, gpu::blocks_tile<8>::threads, gpu::blocks_batch_kernel<8>)

}  // namespace cornerturn::kernels
