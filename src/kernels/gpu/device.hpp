// The GPUs of this process, in plain C++: no vendor header. A build without CUDA answers from absent.cpp, one with it
// from cuda/device.cu; both load and answer on a machine without a driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cornerturn::gpu {

struct device_info {
  std::string name;  // "NVIDIA H200"
  int arch = 0;      // compute capability: 90 for sm_90
  int multiprocessors = 0;
  std::int64_t shared_bytes = 0;  // that a block may ask for
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
};

// Effect  whether somebody in this process has loaded a driver already: else no pointer can be a GPU's
[[nodiscard]] bool driver_is_loaded() noexcept;

// Effect  the current device, when this process has a context on it; else -1. Starts no driver and makes no context,
//         so that a process that only uses the CPU never pays for one
[[nodiscard]] int device_in_use() noexcept;

// Effect  the GPUs that this process may use; 0 where there is none. Asked once.
[[nodiscard]] int device_count();
// Effect  why there is none, as a sentence; "" when there is one
[[nodiscard]] const std::string& why_none();
// Requires  0 <= device < device_count()
[[nodiscard]] const device_info& info(int device);

[[nodiscard]] int current_device() noexcept;

enum class memory { pageable, pinned, managed, device };
struct location {
  memory kind = memory::pageable;
  int device = 0;  // whose memory it is; of kind device only
};
// Effect  in which memory the byte lies. Nothing is initialised, and it may be called while a stream is captured.
[[nodiscard]] location where(const void* pointer) noexcept;

// Makes a device the current one until the end of the scope; -1: leaves it as it is.
class device_guard {
 public:
  explicit device_guard(int device) noexcept;
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  [[maybe_unused]] int before_ = -1;
};

// Effect  loads every GPU kernel of the list on the device, once in the life of the process, so that no later launch
//         does first-use work: a stream under capture does not allow it
// Returns null, or what the driver said
[[nodiscard]] const char* load_kernels(int device) noexcept;

// Effect  memory of the current device, at a multiple of 256 bytes; null: there is none
[[nodiscard]] void* allocate(std::int64_t bytes) noexcept;
void release(void* memory) noexcept;  // waits for what uses it; null is allowed
// Effect  copies to memory of the current device, and waits
// Returns null, or what the driver said
[[nodiscard]] const char* upload(void* to, std::span<const std::byte> from) noexcept;
// Effect  memory of the current device for what comes behind it in the stream; the stream may be under capture
// Returns null where there is none
[[nodiscard]] void* allocate(std::int64_t bytes, void* stream) noexcept;
// Effect  gives it back behind what is in the stream
void release(void* memory, void* stream) noexcept;
// Effect  sets bytes to 0
// Returns null, or what the driver said
[[nodiscard]] const char* clear(void* memory, std::int64_t bytes, void* stream) noexcept;

// Effect  forgets the error that a failed launch left behind for the next caller of the run time
void clear_error() noexcept;

// Between two moments of a stream, by the device's own clock; for tune().
class stopwatch {
 public:
  stopwatch();
  ~stopwatch();
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  void start(void* stream);
  double stop(void* stream);  // seconds; waits for the stream. Negative: the device failed

 private:
  [[maybe_unused]] void* events_[2] = {nullptr, nullptr};
};

}  // namespace cornerturn::gpu
