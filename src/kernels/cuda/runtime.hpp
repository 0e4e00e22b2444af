// CUDA runtime calls for the ladder's launchers, clocks and checks. kernels/hip/runtime.hpp has functions of equal
// names; ladder/gpu_runtime.hpp selects one header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cornerturn::gpu_runtime {

inline constexpr const char* vendor = "CUDA";  // for messages
inline constexpr const char* device = "cuda";  // as in --device

using status = cudaError_t;
using event = cudaEvent_t;
inline constexpr status success = cudaSuccess;
inline const char* text_of(status what) { return cudaGetErrorString(what); }

inline status device_count(int* count) { return cudaGetDeviceCount(count); }
inline status select_device(int ordinal) { return cudaSetDevice(ordinal); }
inline status last_error() { return cudaGetLastError(); }
inline status synchronize() { return cudaDeviceSynchronize(); }

inline status allocate(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
inline status release(void* memory) { return cudaFree(memory); }
inline status set_bytes(void* to, int value, std::size_t bytes) { return cudaMemset(to, value, bytes); }
inline status copy_to_host(void* to, const void* from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
}

// Does nothing: only HIP's events include the time that the host takes to enqueue a kernel.
inline status occupy_queue(void*, std::size_t) { return success; }
inline constexpr const char* cold_caches = "cold L2";

inline status create(event* made) { return cudaEventCreate(made); }
inline status destroy(event which) { return cudaEventDestroy(which); }
inline status record(event which) { return cudaEventRecord(which); }
inline status wait_for(event which) { return cudaEventSynchronize(which); }
inline status milliseconds(float* time, event start, event stop) { return cudaEventElapsedTime(time, start, stop); }

struct device_facts {
  std::string name;
  std::string arch;              // sm_90
  int compute_capability = 0;    // 90
  std::int64_t cache_bytes = 0;  // in front of DRAM: L2
};

// Effect  describes the current device
inline status describe(device_facts* facts) {
  int which = 0;
  cudaDeviceProp properties{};
  status failed = cudaGetDevice(&which);
  if (failed == cudaSuccess) failed = cudaGetDeviceProperties(&properties, which);
  if (failed != cudaSuccess) return failed;
  facts->name = properties.name;
  facts->compute_capability = 10 * properties.major + properties.minor;
  facts->arch = "sm_" + std::to_string(facts->compute_capability);
  facts->cache_bytes = properties.l2CacheSize;
  return success;
}

// Effect  launches a kernel of one parameter on a one-dimensional grid
// Returns null, or an error text
inline const char* launch(const void* kernel, void* parameter, std::int64_t blocks, int threads, int shared_bytes,
                          void* stream) {
  if (blocks > INT32_MAX) return "more tiles than a grid has blocks";
  status failed = cudaSuccess;
  if (shared_bytes > 48 << 10) {  // CUDA requires a request for each kernel with more
    failed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  }
  if (failed == cudaSuccess) {
    failed = cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
                              &parameter, static_cast<std::size_t>(shared_bytes), static_cast<cudaStream_t>(stream));
  }
  return failed == cudaSuccess ? nullptr : cudaGetErrorString(failed);
}

}  // namespace cornerturn::gpu_runtime
