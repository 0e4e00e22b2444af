// The GPUs of this process, in plain C++ without vendor headers. cuda/device.cu implements the functions in a build
// with CUDA, absent.cpp in one without. Both work on a machine without a driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/gpu/traits.hpp"

namespace cornerturn::kernels {
struct kernel;
}
namespace cornerturn::gpu {

inline constexpr int most_devices = 64;  // of one process

struct device_info {
  std::string name;  // "NVIDIA H200"
  std::string arch;  // "sm_90"
  kernels::gpu_traits traits;
  std::int64_t memory_bytes = 0;
};

// Returns  true when the driver's library is loaded in this process; else no pointer can be a GPU's
[[nodiscard]] bool driver_is_loaded() noexcept;

// Returns  the current device if this process has a context on it, else -1. It starts no driver and creates no context,
//          so that a process that only uses the CPU never pays for one
[[nodiscard]] int device_in_use() noexcept;

// Returns  the number of GPUs that this process may use; the driver is asked once
[[nodiscard]] int device_count();
// Returns  the reason for no GPU, as a sentence; "" if there is a GPU
[[nodiscard]] const std::string& why_none();
// Requires  0 <= device < device_count()
[[nodiscard]] const device_info& info(int device);

[[nodiscard]] int current_device() noexcept;

enum class memory { pageable, pinned, managed, device };
struct location {
  memory kind = memory::pageable;
  int device = 0;  // the owner of memory of kind `device`
};
// Returns  the memory that holds the byte. It initializes nothing, and may be called while a stream is captured
[[nodiscard]] location where(const void* pointer) noexcept;

// Makes a device the current one until the end of the scope; -1: changes nothing.
class device_guard {
 public:
  explicit device_guard(int device) noexcept;
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  [[maybe_unused]] int before_ = -1;
};

// Effect  loads the kernel of a row on the device, once in the life of the process: 0.1 ms each (H100, 2026-11-26). Later
//         launches then need no first-use work, which is not allowed while a stream is captured
// Returns null, or the driver's message
[[nodiscard]] const char* load(const kernels::kernel& row, int device) noexcept;

// Returns  memory of the current device, at a multiple of 256 bytes; null: there is none
[[nodiscard]] void* allocate(std::int64_t bytes) noexcept;
void release(void* memory) noexcept;  // waits for all work that uses it; null is allowed
// Effect  copies to memory of the current device, and waits
// Returns null, or the driver's message
[[nodiscard]] const char* upload(void* to, std::span<const std::byte> from) noexcept;
// Returns  memory of the current device for later work of the stream, which may be under capture; null: there is none
[[nodiscard]] void* allocate(std::int64_t bytes, void* stream) noexcept;
// Effect  releases it after all earlier work of the stream
void release(void* memory, void* stream) noexcept;
// Effect  sets bytes to 0
// Returns null, or the driver's message
[[nodiscard]] const char* clear(void* memory, std::int64_t bytes, void* stream) noexcept;

// Effect  clears the error that a failed launch leaves for the next caller of the runtime
void clear_error() noexcept;

// Effect  lets kernels of the device load and store memory of the peer, which is the device itself or another one
// Returns false if the hardware has no path between the two
[[nodiscard]] bool enable_peer(int device, int peer) noexcept;

// A stream of one device, beside all other streams. `urgent`: its kernels start before kernels of the device's other streams.
class queue {
 public:
  queue(int device, bool urgent) noexcept;
  ~queue();
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;
  [[nodiscard]] void* get() const noexcept { return stream_; }  // null: the driver made none

 private:
  [[maybe_unused]] int device_;
  void* stream_ = nullptr;
};

// A point in a stream of one device.
class mark {
 public:
  explicit mark(int device) noexcept;
  ~mark();
  mark(const mark&) = delete;
  mark& operator=(const mark&) = delete;
  // Both return null, or the driver's message
  [[nodiscard]] const char* set(void* stream) noexcept;  // after all earlier work of a stream of the device
  [[nodiscard]] const char* wait_in(
      void* stream) const noexcept;  // later work of the stream, of any device, waits for the mark

 private:
  [[maybe_unused]] int device_;
  [[maybe_unused]] void* event_ = nullptr;
};

// Rows of bytes at equal distances in the memory of one device.
struct row_block {
  const std::byte* at = nullptr;  // of the destination too, which is written
  std::int64_t pitch = 0;
  int device = 0;
};
// Effect  copies rows between the memories of two devices by a copy engine; without a path between them, by the host's memory
// Returns null, or the driver's message
[[nodiscard]] const char* copy_rows(const row_block& to, const row_block& from, std::int64_t row_bytes,
                                    std::int64_t rows, void* stream) noexcept;

// Measures the time between two points of a stream with the device's clock; for tune().
class stopwatch {
 public:
  stopwatch();
  ~stopwatch();
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  void start(void* stream);
  double stop(void* stream);  // seconds; waits for the stream. Negative: an error of the device

 private:
  [[maybe_unused]] void* events_[2] = {nullptr, nullptr};
};

}  // namespace cornerturn::gpu
