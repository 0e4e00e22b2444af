#include "slow_writer.hpp"

namespace cornerturn::testing {
namespace {

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void write_kernel(std::uint32_t* words, std::uint32_t count, std::uint32_t first, int microseconds) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const std::uint64_t end = nanoseconds() + 1000 * static_cast<std::uint64_t>(microseconds);
  while (nanoseconds() < end) continue;
  for (std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
    words[k] = first + k;
  }
}

__global__ void copy_kernel(std::uint32_t* dst, const std::uint32_t* src, std::uint32_t count) {
  for (std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) dst[k] = src[k];
}

}  // namespace

cudaError_t copy_early(std::uint32_t* dst, const std::uint32_t* src, std::uint32_t count, cudaStream_t stream) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(8);
  how.blockDim = dim3(256);
  how.stream = stream;
  how.attrs = &overlap;
  how.numAttrs = 1;
  return cudaLaunchKernelEx(&how, copy_kernel, dst, src, count);
}

cudaError_t write_slowly(std::uint32_t* words, std::uint32_t count, std::uint32_t first, int microseconds,
                         cudaStream_t stream) {
  write_kernel<<<8, 256, 0, stream>>>(words, count, first, microseconds);
  return cudaGetLastError();
}

}  // namespace cornerturn::testing
