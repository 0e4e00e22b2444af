// The roof: copies of contiguous bytes on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cornerturn::bench::cuda {

struct device_copy {
  const char* name;
  void (*enqueue)(const std::byte* src, std::byte* dst, std::int64_t bytes, cudaStream_t on);
};

// Effect  cudaMemcpyAsync, and kernels of 1, 2, 4 and 8 vectors of 16 bytes a thread, of 256 and 512 threads, with and
//         without the hint that nothing is met again (_cs). Both sides are aligned to 16
[[nodiscard]] const std::vector<device_copy>& device_copies();

}  // namespace cornerturn::bench::cuda
