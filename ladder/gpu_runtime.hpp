// Picks the vendor of the ladder: the runtime for the host, and the language header for kernel texts. A build has CUDA
// or HIP, never both.
#pragma once

#ifdef CORNERTURN_HIP
#include "kernels/hip/runtime.hpp"
#define CORNERTURN_GPU_WORDS "kernels/hip/lang.cuh"
#else
#include "kernels/cuda/runtime.hpp"
#define CORNERTURN_GPU_WORDS "kernels/cuda/lang.cuh"
#endif
