#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/shift.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_shift_b1, gpu::shift_tile<1>::threads, gpu::shift_kernel<1, false>)
CORNERTURN_INSTANCE(cuda_shift_chain_b1, gpu::shift_tile<1>::threads, gpu::shift_kernel<1, true>)
CORNERTURN_INSTANCE(cuda_shift_b2, gpu::shift_tile<2>::threads, gpu::shift_kernel<2, false>)
CORNERTURN_INSTANCE(cuda_shift_chain_b2, gpu::shift_tile<2>::threads, gpu::shift_kernel<2, true>)
CORNERTURN_INSTANCE(cuda_shift_b4, gpu::shift_tile<4>::threads, gpu::shift_kernel<4, false>)
CORNERTURN_INSTANCE(cuda_shift_chain_b4, gpu::shift_tile<4>::threads, gpu::shift_kernel<4, true>)
CORNERTURN_INSTANCE(cuda_shift_b8, gpu::shift_tile<8>::threads, gpu::shift_kernel<8, false>)
CORNERTURN_INSTANCE(cuda_shift_chain_b8, gpu::shift_tile<8>::threads, gpu::shift_kernel<8, true>)

}  // namespace cornerturn::kernels
