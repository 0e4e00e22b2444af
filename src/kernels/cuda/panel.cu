#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/gpu/panel.cuh"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

CORNERTURN_INSTANCE_IN_L1(cuda_panel_b1, gpu::panel_threads, gpu::panel_kernel<1>)
CORNERTURN_INSTANCE_IN_L1(cuda_panel_b2, gpu::panel_threads, gpu::panel_kernel<2>)
CORNERTURN_INSTANCE_IN_L1(cuda_panel_b4, gpu::panel_threads, gpu::panel_kernel<4>)
CORNERTURN_INSTANCE_IN_L1(cuda_panel_b8, gpu::panel_threads, gpu::panel_kernel<8>)
CORNERTURN_INSTANCE_IN_L1(cuda_panel_batch_b1, gpu::panel_threads, gpu::panel_batch_kernel<1>)
CORNERTURN_INSTANCE_IN_L1(cuda_panel_batch_b2, gpu::panel_threads, gpu::panel_batch_kernel<2>)
CORNERTURN_INSTANCE_IN_L1(cuda_panel_batch_b4, gpu::panel_threads, gpu::panel_batch_kernel<4>)
CORNERTURN_INSTANCE_IN_L1(cuda_panel_batch_b8, gpu::panel_threads, gpu::panel_batch_kernel<8>)

}  // namespace cornerturn::kernels
