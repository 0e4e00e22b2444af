// Found before src/kernels/cuda/launch.cuh: an instance becomes a row of kernels.inc that the emulator runs.
#pragma once

#include <cstdint>

#include "emulate/emulator.hpp"

namespace cornerturn::emulated {

template <class Job>
constexpr std::size_t job_bytes_of(void (*)(Job)) {
  return sizeof(Job);
}
template <class Job>
void call(void (*kernel)(Job), const void* job) {
  kernel(*static_cast<const Job*>(job));
}

template <auto Kernel, int Threads>
const char* start(const void* job, std::uint32_t blocks, int shared_bytes, void* stream) noexcept {
  return launch([](const void* of) { call(Kernel, of); }, job, job_bytes_of(Kernel), Threads, blocks, shared_bytes,
                stream);
}

}  // namespace cornerturn::emulated

#define CORNERTURN_INSTANCE(name, threads, ...)                                                      \
  const char* name(const void* job, std::uint32_t blocks, int shared_bytes, void* stream) noexcept { \
    return emulated::start<__VA_ARGS__, threads>(job, blocks, shared_bytes, stream);                 \
  }
#define CORNERTURN_INSTANCE_IN_L1 CORNERTURN_INSTANCE
