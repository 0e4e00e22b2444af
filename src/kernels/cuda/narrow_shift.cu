#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/narrow_shift.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_shift_columns_b1, gpu::narrow_shift_tile<1>::threads, gpu::shifted_columns_kernel<1>)
CORNERTURN_INSTANCE(cuda_shift_rows_b1, gpu::narrow_shift_tile<1>::threads, gpu::shifted_rows_kernel<1>)
CORNERTURN_INSTANCE(cuda_shift_columns_b2, gpu::narrow_shift_tile<2>::threads, gpu::shifted_columns_kernel<2>)
CORNERTURN_INSTANCE(cuda_shift_rows_b2, gpu::narrow_shift_tile<2>::threads, gpu::shifted_rows_kernel<2>)
CORNERTURN_INSTANCE(cuda_shift_columns_b4, gpu::narrow_shift_tile<4>::threads, gpu::shifted_columns_kernel<4>)
CORNERTURN_INSTANCE(cuda_shift_rows_b4, gpu::narrow_shift_tile<4>::threads, gpu::shifted_rows_kernel<4>)
CORNERTURN_INSTANCE(cuda_shift_columns_b8, gpu::narrow_shift_tile<8>::threads, gpu::shifted_columns_kernel<8>)
CORNERTURN_INSTANCE(cuda_shift_rows_b8, gpu::narrow_shift_tile<8>::threads, gpu::shifted_rows_kernel<8>)

}  // namespace cornerturn::kernels
