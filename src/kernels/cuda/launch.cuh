// How an instance becomes a row of kernels.inc: a function that starts it.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>

namespace cornerturn::kernels {

// More than 48 KiB of shared memory is granted once for each kernel and device; so is a share, in percent, of what a
// multiprocessor divides between shared memory and L1. 0: the driver's own.
template <auto Kernel, int SharedPercent>
cudaError_t allow_shared(int bytes) noexcept {
  static std::atomic<std::uint64_t> granted{0};  // a bit for each of the first 64 devices
  if (SharedPercent == 0 && bytes <= 48 << 10) return cudaSuccess;
  int device = 0;
  if (const cudaError_t failed = cudaGetDevice(&device); failed != cudaSuccess) return failed;
  const std::uint64_t bit = device < 64 ? std::uint64_t{1} << device : 0;
  if ((granted.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  int most = 0;
  cudaError_t failed = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (failed == cudaSuccess) failed = cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (failed == cudaSuccess && SharedPercent != 0) {
    failed = cudaFuncSetAttribute(Kernel, cudaFuncAttributePreferredSharedMemoryCarveout, SharedPercent);
  }
  if (failed == cudaSuccess) granted.fetch_or(bit, std::memory_order_relaxed);
  return failed;
}

template <auto Kernel, int Threads, int SharedPercent = 0>
const char* start(const void* job, std::uint32_t blocks, int shared_bytes, void* stream) noexcept {
  cudaError_t failed = allow_shared<Kernel, SharedPercent>(shared_bytes);
  void* arguments[] = {const_cast<void*>(job)};
  if (failed == cudaSuccess && blocks == 0) {
    cudaFuncAttributes about{};
    failed = cudaFuncGetAttributes(&about, Kernel);
  } else if (failed == cudaSuccess) {
    failed = cudaLaunchKernel(Kernel, dim3(blocks), dim3(Threads), arguments, static_cast<std::size_t>(shared_bytes),
                              static_cast<cudaStream_t>(stream));
  }
  return failed == cudaSuccess ? nullptr : cudaGetErrorString(failed);
}

}  // namespace cornerturn::kernels

#define CORNERTURN_INSTANCE(name, threads, ...)                                                      \
  const char* name(const void* job, std::uint32_t blocks, int shared_bytes, void* stream) noexcept { \
    return start<__VA_ARGS__, threads>(job, blocks, shared_bytes, stream);                           \
  }

// Reads of 4 and 8 bytes on their way to shared memory wait in L1: matrices of 8 to 300 float64 a side have 0.70 of the
// copy where it has 28 KiB, 0.90 where it has 92 or 124 (H200, 2026-11-22).
#define CORNERTURN_INSTANCE_IN_L1(name, threads, ...)                                                \
  const char* name(const void* job, std::uint32_t blocks, int shared_bytes, void* stream) noexcept { \
    return start<__VA_ARGS__, threads, 72>(job, blocks, shared_bytes, stream);                       \
  }
