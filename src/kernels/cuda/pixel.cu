#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/pixel.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE(cuda_pixel_b1_64x64, gpu::pixel_threads, gpu::pixel_kernel)

}  // namespace cornerturn::kernels
