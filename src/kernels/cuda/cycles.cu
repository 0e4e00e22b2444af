#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/cycles.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_cycles_b1, gpu::cycles_threads, gpu::cycles_kernel<1, 4096>)
CORNERTURN_INSTANCE(cuda_cycles_b4, gpu::cycles_threads, gpu::cycles_kernel<4, 4096>)
CORNERTURN_INSTANCE(cuda_cycles_b8, gpu::cycles_threads, gpu::cycles_kernel<8, 4096>)
CORNERTURN_INSTANCE(cuda_cycles_b16, gpu::cycles_threads, gpu::cycles_kernel<16, 4096>)
CORNERTURN_INSTANCE(cuda_cycles_b4_short, gpu::cycles_threads, gpu::cycles_kernel<4, 2048>)
CORNERTURN_INSTANCE(cuda_cycles_b8_short, gpu::cycles_threads, gpu::cycles_kernel<8, 2048>)
CORNERTURN_INSTANCE(cuda_cycles_b16_short, gpu::cycles_threads, gpu::cycles_kernel<16, 2048>)

}  // namespace cornerturn::kernels
