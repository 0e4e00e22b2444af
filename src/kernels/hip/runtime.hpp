// The HIP run time under the names of kernels/cuda/runtime.hpp. ladder/gpu_runtime.hpp picks one of the two.
// Compiled and emulated, not yet run on AMD hardware.
#pragma once

#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cornerturn::gpu_runtime {

inline constexpr const char* vendor = "HIP";  // in sentences
inline constexpr const char* device = "hip";  // as in --device

using status = hipError_t;
using event = hipEvent_t;
inline constexpr status success = hipSuccess;
inline const char* text_of(status what) { return hipGetErrorString(what); }

inline status device_count(int* count) { return hipGetDeviceCount(count); }
inline status last_error() { return hipGetLastError(); }
inline status synchronize() { return hipDeviceSynchronize(); }

inline status allocate(void** memory, std::size_t bytes) { return hipMalloc(memory, bytes); }
inline status release(void* memory) { return hipFree(memory); }
inline status set_bytes(void* to, int value, std::size_t bytes) { return hipMemset(to, value, bytes); }
inline status copy_to_host(void* to, const void* from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}

inline status create(event* made) { return hipEventCreate(made); }
inline status destroy(event which) { return hipEventDestroy(which); }
inline status record(event which) { return hipEventRecord(which, nullptr); }
inline status wait_for(event which) { return hipEventSynchronize(which); }
inline status milliseconds(float* time, event start, event stop) { return hipEventElapsedTime(time, start, stop); }

struct device_facts {
  std::string name;
  std::string arch;              // gfx90a
  int compute_capability = 0;    // CUDA's number; no rung of HIP asks for one
  std::int64_t cache_bytes = 0;  // in front of DRAM
};

// Effect  describes the current device
inline status describe(device_facts* facts) {
  int which = 0;
  hipDeviceProp_t properties{};
  status failed = hipGetDevice(&which);
  if (failed == hipSuccess) failed = hipGetDeviceProperties(&properties, which);
  if (failed != hipSuccess) return failed;
  facts->name = properties.name;
  const std::string target = properties.gcnArchName;  // gfx90a:sramecc+:xnack-
  facts->arch = target.substr(0, target.find(':'));
  // The run time reports one L2, not the Infinity Cache behind it: at most 256 MiB (MI300X, CDNA 3 white paper).
  facts->cache_bytes = std::max<std::int64_t>(properties.l2CacheSize, std::int64_t{256} << 20);
  return success;
}

// Effect  launches a kernel of one parameter on a one-dimensional grid
// Returns null, or what the driver said. A grid has fewer than 2^32 work-items: the dispatch packet counts them, not
// workgroups, in 32 bits. 64 KiB of LDS need no request; no rung wants more.
inline const char* launch(const void* kernel, void* parameter, std::int64_t blocks, int threads, int shared_bytes,
                          void* stream) {
  if (blocks > INT32_MAX || blocks * threads > UINT32_MAX) return "more work-items than a HIP grid has";
  if (shared_bytes > 64 << 10) return "more LDS than the 64 KiB of a workgroup";
  const status failed =
      hipLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), &parameter,
                      static_cast<std::size_t>(shared_bytes), static_cast<hipStream_t>(stream));
  return failed == hipSuccess ? nullptr : hipGetErrorString(failed);
}

}  // namespace cornerturn::gpu_runtime
