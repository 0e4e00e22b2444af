// The time that work takes on a stream, by the device's own clock.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "../wall_clock.hpp"
#include "device_bench.hpp"

namespace cornerturn::testing {

class timer {
 public:
  timer() {
    EXPECT_CUDA(cudaEventCreate(&begin_));
    EXPECT_CUDA(cudaEventCreate(&end_));
  }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() { static_cast<void>(cudaEventDestroy(begin_)), static_cast<void>(cudaEventDestroy(end_)); }
  double seconds(const std::function<void()>& run, cudaStream_t on) {
    float milliseconds = 0;
    // Keeps the device busy while the host enqueues what is timed.
    for (int k = 0; k < 4; ++k) EXPECT_CUDA(cudaMemsetAsync(busy_.get(), k, busy_bytes, on));
    EXPECT_CUDA(cudaEventRecord(begin_, on));
    run();
    EXPECT_CUDA(cudaEventRecord(end_, on));
    EXPECT_CUDA(cudaEventSynchronize(end_));
    EXPECT_CUDA(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  static constexpr std::size_t busy_bytes = 8 << 20;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  device_memory busy_{busy_bytes};
};

}  // namespace cornerturn::testing
