// HIP runtime calls under the names of kernels/cuda/runtime.hpp. ladder/gpu_runtime.hpp selects one header.
// Compiled and emulated, not yet run on AMD hardware.
#pragma once

#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cornerturn::gpu_runtime {

inline constexpr const char* vendor = "HIP";  // for messages
inline constexpr const char* device = "hip";  // as in --device

using status = hipError_t;
using event = hipEvent_t;
inline constexpr status success = hipSuccess;
inline const char* text_of(status what) { return hipGetErrorString(what); }

inline status device_count(int* count) { return hipGetDeviceCount(count); }
inline status select_device(int ordinal) { return hipSetDevice(ordinal); }
inline status last_error() { return hipGetLastError(); }
inline status synchronize() { return hipDeviceSynchronize(); }

inline status allocate(void** memory, std::size_t bytes) { return hipMalloc(memory, bytes); }
inline status release(void* memory) { return hipFree(memory); }
inline status set_bytes(void* to, int value, std::size_t bytes) { return hipMemset(to, value, bytes); }
inline status copy_to_host(void* to, const void* from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}

// Two markers of an idle queue enclose the gap before the host enqueues the kernel, too. A fill that runs until then hides it.
inline status occupy_queue(void* memory, std::size_t bytes) { return hipMemsetAsync(memory, 0, bytes, nullptr); }
inline constexpr const char* cold_caches = "cold L2 and Infinity Cache";

inline status create(event* made) { return hipEventCreate(made); }
inline status destroy(event which) { return hipEventDestroy(which); }
inline status record(event which) { return hipEventRecord(which, nullptr); }
inline status wait_for(event which) { return hipEventSynchronize(which); }
inline status milliseconds(float* time, event start, event stop) { return hipEventElapsedTime(time, start, stop); }

struct device_facts {
  std::string name;
  std::string arch;              // gfx90a
  int compute_capability = 0;    // CUDA only; 0 here
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
  // The runtime does not report the Infinity Cache behind L2: up to 256 MiB (MI300X, CDNA 3 white paper).
  facts->cache_bytes = std::max<std::int64_t>(properties.l2CacheSize, std::int64_t{256} << 20);
  return success;
}

// Effect  launches a kernel of one parameter on a one-dimensional grid
// Returns null, or an error text. A dispatch counts work-items in 32 bits, so a grid has fewer than 2^32. 64 KiB of LDS need
// no request.
inline const char* launch(const void* kernel, void* parameter, std::int64_t blocks, int threads, int shared_bytes,
                          void* stream) {
  if (blocks > INT32_MAX || blocks * threads > UINT32_MAX)
    return "this shape needs 2^32 work-items or more; a grid has fewer";
  if (shared_bytes > 64 << 10) return "this kernel needs more than the 64 KiB of LDS of a workgroup";
  const status failed =
      hipLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), &parameter,
                      static_cast<std::size_t>(shared_bytes), static_cast<hipStream_t>(stream));
  return failed == hipSuccess ? nullptr : hipGetErrorString(failed);
}

}  // namespace cornerturn::gpu_runtime
