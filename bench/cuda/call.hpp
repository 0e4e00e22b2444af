// Calls of the CUDA runtime that must succeed, and classes that own streams, events and other resources.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cornerturn::bench::cuda {

// The device or the driver failed: nothing more can be measured in this process.
class device_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void must(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw device_failure(std::string(what) + ": " + cudaGetErrorString(code));
}

class stream {
 public:
  stream() { must(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~stream() { cudaStreamDestroy(handle_); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  operator cudaStream_t() const { return handle_; }
  void wait() const { must(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t handle_ = nullptr;
};

class event {
 public:
  event() { must(cudaEventCreate(&handle_), "cudaEventCreate"); }
  event(event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  event& operator=(event&&) = delete;
  ~event() {
    if (handle_ != nullptr) cudaEventDestroy(handle_);
  }
  operator cudaEvent_t() const { return handle_; }
  void record(cudaStream_t on) const { must(cudaEventRecord(handle_, on), "cudaEventRecord"); }
  [[nodiscard]] double seconds_since(const event& begin) const {
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace cornerturn::bench::cuda
