#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/box_batch.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_box_batch_b1, gpu::box_threads, gpu::box_batch_kernel<1>)
CORNERTURN_INSTANCE(cuda_box_batch_b2, gpu::box_threads, gpu::box_batch_kernel<2>)
CORNERTURN_INSTANCE(cuda_box_batch_b4, gpu::box_threads, gpu::box_batch_kernel<4>)
CORNERTURN_INSTANCE(cuda_box_batch_b8, gpu::box_threads, gpu::box_batch_kernel<8>)
CORNERTURN_INSTANCE(cuda_box_batch_b16, gpu::box_threads, gpu::box_batch_kernel<16>)

}  // namespace cornerturn::kernels
