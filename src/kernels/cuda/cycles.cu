#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/cycles.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_cycles_b1, gpu::cycles_threads, gpu::cycles_kernel<1>)
CORNERTURN_INSTANCE(cuda_cycles_b4, gpu::cycles_threads, gpu::cycles_kernel<4>)
CORNERTURN_INSTANCE(cuda_cycles_b8, gpu::cycles_threads, gpu::cycles_kernel<8>)
CORNERTURN_INSTANCE(cuda_cycles_b16, gpu::cycles_threads, gpu::cycles_kernel<16>)

}  // namespace cornerturn::kernels
