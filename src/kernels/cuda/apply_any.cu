#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/apply_any.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_apply_any_b1, gpu::apply_any_threads, gpu::apply_any_kernel<1>)
CORNERTURN_INSTANCE(cuda_apply_any_b2, gpu::apply_any_threads, gpu::apply_any_kernel<2>)
CORNERTURN_INSTANCE(cuda_apply_any_b4, gpu::apply_any_threads, gpu::apply_any_kernel<4>)
CORNERTURN_INSTANCE(cuda_apply_any_b8, gpu::apply_any_threads, gpu::apply_any_kernel<8>)
CORNERTURN_INSTANCE(cuda_apply_any_b16, gpu::apply_any_threads, gpu::apply_any_kernel<16>)

}  // namespace cornerturn::kernels
