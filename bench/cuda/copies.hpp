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

// Effect  returns cudaMemcpyAsync, and kernels with 1, 2, 4 and 8 vectors of 16 bytes a thread, with 256 and 512 threads, with
//         and without streaming loads and stores (_cs)
// Shape   src and dst are aligned to 16 bytes
[[nodiscard]] const std::vector<device_copy>& device_copies();

}  // namespace cornerturn::bench::cuda
