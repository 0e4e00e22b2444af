// The one place of the ladder that picks a vendor: the run time for the host, and the words of the kernel texts. A build
// has CUDA or HIP, never both.
#pragma once

#ifdef CORNERTURN_HIP
#include "kernels/hip/runtime.hpp"
#define CORNERTURN_GPU_WORDS "kernels/hip/lang.cuh"
#else
#include "kernels/cuda/runtime.hpp"
#define CORNERTURN_GPU_WORDS "kernels/cuda/lang.cuh"
#endif
