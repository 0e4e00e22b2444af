// The CUDA run time for the harness: failures as exceptions, memory that frees itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace cornerturn::ladder {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}
inline void check(const char* fault) {
  if (fault != nullptr) throw std::runtime_error(std::string("CUDA: ") + fault);
}

class device_buffer {
 public:
  explicit device_buffer(std::size_t bytes) { check(cudaMalloc(&bytes_, bytes)); }
  device_buffer(device_buffer&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)) {}
  device_buffer& operator=(device_buffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~device_buffer() { cudaFree(bytes_); }

  [[nodiscard]] void* get() const { return bytes_; }
  [[nodiscard]] unsigned char* bytes() const { return static_cast<unsigned char*>(bytes_); }

 private:
  void* bytes_ = nullptr;
};

class device_event {
 public:
  device_event() { check(cudaEventCreate(&event_)); }
  device_event(const device_event&) = delete;
  device_event& operator=(const device_event&) = delete;
  ~device_event() { cudaEventDestroy(event_); }

  void record() { check(cudaEventRecord(event_)); }
  [[nodiscard]] double milliseconds_since(const device_event& start) const {
    check(cudaEventSynchronize(event_));
    float time = 0;
    check(cudaEventElapsedTime(&time, start.event_, event_));
    return time;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace cornerturn::ladder
