#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/narrow.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_columns_b1_2048x16_r16, 128, gpu::few_columns_kernel<1, 1>)
CORNERTURN_INSTANCE(cuda_rows_b1_16x2048_r16, 128, gpu::few_rows_kernel<1, 1>)
CORNERTURN_INSTANCE(cuda_columns_b1_1024x32_r16, 128, gpu::few_columns_kernel<1, 2>)
CORNERTURN_INSTANCE(cuda_rows_b1_32x1024_r16, 128, gpu::few_rows_kernel<1, 2>)
CORNERTURN_INSTANCE(cuda_columns_b1_512x64_r16, 128, gpu::few_columns_kernel<1, 4>)
CORNERTURN_INSTANCE(cuda_rows_b1_64x512_r16, 128, gpu::few_rows_kernel<1, 4>)
CORNERTURN_INSTANCE(cuda_columns_b1_256x128_r16, 128, gpu::few_columns_kernel<1, 8>)
CORNERTURN_INSTANCE(cuda_rows_b1_128x256_r16, 128, gpu::few_rows_kernel<1, 8>)
CORNERTURN_INSTANCE(cuda_columns_b2_2048x8_r8, 256, gpu::few_columns_kernel<2, 1>)
CORNERTURN_INSTANCE(cuda_rows_b2_8x2048_r8, 256, gpu::few_rows_kernel<2, 1>)
CORNERTURN_INSTANCE(cuda_columns_b2_1024x16_r8, 256, gpu::few_columns_kernel<2, 2>)
CORNERTURN_INSTANCE(cuda_rows_b2_16x1024_r8, 256, gpu::few_rows_kernel<2, 2>)
CORNERTURN_INSTANCE(cuda_columns_b2_512x32_r8, 256, gpu::few_columns_kernel<2, 4>)
CORNERTURN_INSTANCE(cuda_rows_b2_32x512_r8, 256, gpu::few_rows_kernel<2, 4>)
CORNERTURN_INSTANCE(cuda_columns_b2_256x64_r8, 256, gpu::few_columns_kernel<2, 8>)
CORNERTURN_INSTANCE(cuda_rows_b2_64x256_r8, 256, gpu::few_rows_kernel<2, 8>)
CORNERTURN_INSTANCE(cuda_columns_b4_1024x4_r4, 256, gpu::few_columns_kernel<4, 1>)
CORNERTURN_INSTANCE(cuda_rows_b4_4x1024_r4, 256, gpu::few_rows_kernel<4, 1>)
CORNERTURN_INSTANCE(cuda_columns_b4_512x8_r4, 256, gpu::few_columns_kernel<4, 2>)
CORNERTURN_INSTANCE(cuda_rows_b4_8x512_r4, 256, gpu::few_rows_kernel<4, 2>)
CORNERTURN_INSTANCE(cuda_columns_b4_256x16_r4, 256, gpu::few_columns_kernel<4, 4>)
CORNERTURN_INSTANCE(cuda_rows_b4_16x256_r4, 256, gpu::few_rows_kernel<4, 4>)
CORNERTURN_INSTANCE(cuda_columns_b4_128x32_r4, 256, gpu::few_columns_kernel<4, 8>)
CORNERTURN_INSTANCE(cuda_rows_b4_32x128_r4, 256, gpu::few_rows_kernel<4, 8>)
CORNERTURN_INSTANCE(cuda_columns_b8_1024x2_r2, 256, gpu::few_columns_kernel<8, 1>)
CORNERTURN_INSTANCE(cuda_rows_b8_2x1024_r2, 256, gpu::few_rows_kernel<8, 1>)
CORNERTURN_INSTANCE(cuda_columns_b8_512x4_r2, 256, gpu::few_columns_kernel<8, 2>)
CORNERTURN_INSTANCE(cuda_rows_b8_4x512_r2, 256, gpu::few_rows_kernel<8, 2>)
CORNERTURN_INSTANCE(cuda_columns_b8_256x8_r2, 256, gpu::few_columns_kernel<8, 4>)
CORNERTURN_INSTANCE(cuda_rows_b8_8x256_r2, 256, gpu::few_rows_kernel<8, 4>)
CORNERTURN_INSTANCE(cuda_columns_b8_128x16_r2, 256, gpu::few_columns_kernel<8, 8>)
CORNERTURN_INSTANCE(cuda_rows_b8_16x128_r2, 256, gpu::few_rows_kernel<8, 8>)

}  // namespace cornerturn::kernels
