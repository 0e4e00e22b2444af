// Makes an instance the launch function of its row.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>

#include "kernels/gpu/policy/limits.hpp"

namespace cornerturn::kernels {

// A kernel needs a grant, once for each device, for more than 48 KiB of shared memory. It also needs one for the
// percentage of shared memory in the memory that it divides with L1. 0: the driver decides.
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

// A launch may begin while earlier launches of its stream end: programmatic dependent launch. Its threads find their addresses
// meanwhile, and wait for the earlier launches in wait_for_earlier_launches(). In a CUDA graph a transpose of 90 KB to 2 MB takes
// 0.62 to 0.73 of the time, of 8 and 16 MB 0.87 (H200, 2026-11-27). False for machine code without that wait, which is of an
// architecture before sm_90, and for drivers before 12.3, whose graphs have no such edges.
template <auto Kernel>
bool overlaps_launches() noexcept {
  static const bool answer = [] {
    int driver = 0, devices = 0;
    cudaFuncAttributes about{};
    bool all = cudaDriverGetVersion(&driver) == cudaSuccess && driver >= 12030 &&
               cudaFuncGetAttributes(&about, Kernel) == cudaSuccess && about.ptxVersion >= 90 &&
               cudaGetDeviceCount(&devices) == cudaSuccess;
    for (int device = 0; device < devices; ++device) {
      int major = 0;
      all =
          all && cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
    }
    return all;
  }();
  return answer;
}

// One dimension, or three: tiles across, tiles down, matrices.
template <class Args>
dim3 grid_of(void (*)(Args), const void* args, std::uint32_t blocks) noexcept {
  if constexpr (requires(const Args& all) { all.tiles_across; }) {
    const auto& all = *static_cast<const Args*>(args);
    return {all.tiles_across, all.tiles_down, blocks / (all.tiles_across * all.tiles_down)};
  }
  return {blocks};
}

template <auto Kernel, std::uint64_t Limits>
const char* launch_kernel(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept {
  cudaError_t failed = allow_shared<Kernel, gpu::shared_percent_of(Limits)>(shared_bytes);
  void* arguments[] = {const_cast<void*>(args)};
  if (failed == cudaSuccess && blocks == 0) {  // to load the kernel: see launch_function in kernels/kernel.hpp
    cudaFuncAttributes about{};
    failed = cudaFuncGetAttributes(&about, Kernel);
    overlaps_launches<Kernel>();
  } else if (failed == cudaSuccess) {
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how{};
    how.gridDim = grid_of(Kernel, args, blocks);
    how.blockDim = dim3(gpu::threads_of(Limits));
    how.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    how.stream = static_cast<cudaStream_t>(stream);
    how.attrs = &overlap;
    how.numAttrs = overlaps_launches<Kernel>() ? 1 : 0;
    // CUDA 12 deduces no type of a kernel here.
    failed = cudaLaunchKernelExC(&how, reinterpret_cast<const void*>(Kernel), arguments);
  }
  return failed == cudaSuccess ? nullptr : cudaGetErrorString(failed);
}

}  // namespace cornerturn::kernels

// A row of a family's rows.inc becomes its launch function, which kernels/kernel.cpp puts into the table of rows.
#define GPU_ROW(name, family, element_bytes, tile_rows, tile_cols, shared_bytes, limits, note, kernel, ...) \
  const char* name(const void* args, std::uint32_t blocks, int shared, void* stream) noexcept {             \
    using namespace gpu;                                                                                    \
    return launch_kernel<kernel<__VA_ARGS__ __VA_OPT__(, ) limits>, limits>(args, blocks, shared, stream);  \
  }
#define GPU_BATCH_ROW GPU_ROW
#define GPU_ALTERNATING_ROW GPU_ROW
#define GPU_IN_PLACE_ROW GPU_ROW
#define GPU_ARITHMETIC_ROW(name, family, src_bytes, dst_bytes, ...) GPU_ROW(name, family, src_bytes, __VA_ARGS__)
