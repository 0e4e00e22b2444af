#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/runs.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_copy_b1, gpu::runs_threads, gpu::runs_kernel<1, 1>)
CORNERTURN_INSTANCE(cuda_copy_b4, gpu::runs_threads, gpu::runs_kernel<4, 1>)
CORNERTURN_INSTANCE(cuda_copy_b8, gpu::runs_threads, gpu::runs_kernel<8, 1>)
CORNERTURN_INSTANCE(cuda_copy_b16, gpu::runs_threads, gpu::runs_kernel<16, 1>)
CORNERTURN_INSTANCE(cuda_runs_b1, gpu::runs_threads, gpu::runs_kernel<1, 4>)
CORNERTURN_INSTANCE(cuda_runs_b4, gpu::runs_threads, gpu::runs_kernel<4, 4>)
CORNERTURN_INSTANCE(cuda_runs_b8, gpu::runs_threads, gpu::runs_kernel<8, 4>)
CORNERTURN_INSTANCE(cuda_runs_b16, gpu::runs_threads, gpu::runs_kernel<16, 4>)

}  // namespace cornerturn::kernels
