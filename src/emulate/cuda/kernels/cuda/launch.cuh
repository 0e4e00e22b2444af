// Found before src/kernels/cuda/launch.cuh: an instance becomes a row of kernels.inc that the emulator runs.
#pragma once

#include <cstdint>

#include "emulate/emulator.hpp"
#include "kernels/gpu/policy/limits.hpp"

namespace cornerturn::emulated {

template <class Job>
constexpr std::size_t job_bytes_of(void (*)(Job)) {
  return sizeof(Job);
}
template <class Job>
void call(void (*kernel)(Job), const void* job) {
  kernel(*static_cast<const Job*>(job));
}

template <auto Kernel, std::uint64_t Limits>
const char* launch_kernel(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept {
  return launch([](const void* of) { call(Kernel, of); }, args, job_bytes_of(Kernel), gpu::threads_of(Limits), blocks,
                shared_bytes, stream, true);
}

}  // namespace cornerturn::emulated

#define GPU_ROW(name, family, element_bytes, tile_rows, tile_cols, shared_bytes, limits, note, kernel, ...)          \
  const char* name(const void* args, std::uint32_t blocks, int shared, void* stream) noexcept {                      \
    using namespace gpu;                                                                                             \
    return emulated::launch_kernel<kernel<__VA_ARGS__ __VA_OPT__(, ) limits>, limits>(args, blocks, shared, stream); \
  }
#define GPU_BATCH_ROW GPU_ROW
#define GPU_ALTERNATING_ROW GPU_ROW
#define GPU_IN_PLACE_ROW GPU_ROW
#define GPU_ARITHMETIC_ROW(name, family, src_bytes, dst_bytes, ...) GPU_ROW(name, family, src_bytes, __VA_ARGS__)
