// The GPU runtime for the harness: failures become exceptions; destructors release memory and events.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "gpu_runtime.hpp"

namespace cornerturn::ladder {

inline void check(gpu_runtime::status status) {
  if (status == gpu_runtime::success) return;
  throw std::runtime_error(std::string(gpu_runtime::vendor) + ": " + gpu_runtime::text_of(status));
}
inline void check(const char* fault) {
  if (fault != nullptr) throw std::runtime_error(std::string(gpu_runtime::vendor) + ": " + fault);
}

class device_buffer {
 public:
  explicit device_buffer(std::size_t bytes) { check(gpu_runtime::allocate(&bytes_, bytes)); }
  device_buffer(device_buffer&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)) {}
  device_buffer& operator=(device_buffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~device_buffer() { static_cast<void>(gpu_runtime::release(bytes_)); }

  [[nodiscard]] void* get() const { return bytes_; }
  [[nodiscard]] unsigned char* bytes() const { return static_cast<unsigned char*>(bytes_); }

 private:
  void* bytes_ = nullptr;
};

class device_event {
 public:
  device_event() { check(gpu_runtime::create(&event_)); }
  device_event(const device_event&) = delete;
  device_event& operator=(const device_event&) = delete;
  ~device_event() { static_cast<void>(gpu_runtime::destroy(event_)); }

  void record() { check(gpu_runtime::record(event_)); }
  [[nodiscard]] double milliseconds_since(const device_event& start) const {
    check(gpu_runtime::wait_for(event_));
    float time = 0;
    check(gpu_runtime::milliseconds(&time, start.event_, event_));
    return time;
  }

 private:
  gpu_runtime::event event_ = nullptr;
};

}  // namespace cornerturn::ladder
