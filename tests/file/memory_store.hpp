// Stores for the tests: an array in memory that counts the writes of each byte and fails on demand.
#pragma once

#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "cornerturn/file.hpp"

namespace cornerturn::files {

class memory_store final : public byte_store {
 public:
  explicit memory_store(std::size_t bytes) : data(bytes), writes_of(bytes) {}
  void read(std::int64_t offset, void* to, std::size_t bytes) override {
    if (++calls == fails_at) throw std::runtime_error("the disk is gone");
    if (offset < 0 || offset + static_cast<std::int64_t>(bytes) > static_cast<std::int64_t>(data.size())) {
      throw std::out_of_range("read");
    }
    std::memcpy(to, data.data() + offset, bytes);
    bytes_read += static_cast<std::int64_t>(bytes);
  }
  void write(std::int64_t offset, const void* from, std::size_t bytes) override {
    if (++calls == fails_at) throw std::runtime_error("the disk is full");
    if (offset < 0 || offset + static_cast<std::int64_t>(bytes) > static_cast<std::int64_t>(data.size())) {
      throw std::out_of_range("write");
    }
    std::memcpy(data.data() + offset, from, bytes);
    for (std::size_t k = 0; k < bytes; ++k) ++writes_of[static_cast<std::size_t>(offset) + k];
  }
  void will_read(std::int64_t, std::size_t bytes) override { bytes_announced += static_cast<std::int64_t>(bytes); }
  // True if each byte was written exactly once.
  [[nodiscard]] bool is_covered_once() const {
    for (const auto& writes : writes_of) {
      if (writes != 1) return false;
    }
    return true;
  }

  std::vector<std::byte> data;
  std::vector<std::atomic<unsigned char>> writes_of;
  std::atomic<std::int64_t> bytes_read{0};
  std::atomic<std::int64_t> bytes_announced{0};
  std::atomic<int> calls{0};
  int fails_at = -1;  // the number of the call
};

// Effect  each byte depends on its place
inline void fill(std::vector<std::byte>& data) {
  std::uint32_t state = 1;
  for (std::byte& one : data) {
    state = state * 1664525 + 1013904223;
    one = static_cast<std::byte>(state >> 24);
  }
}

inline std::int64_t bytes_of_array(const stored_array& what) {
  return std::accumulate(what.extents.begin(), what.extents.end(), what.element_bytes, std::multiplies<>());
}

// Effect  returns the transposed array, element by element
inline std::vector<std::byte> expected(const std::vector<std::byte>& src, const stored_array& what) {
  const std::size_t rank = what.extents.size();
  const auto element = static_cast<std::size_t>(what.element_bytes);
  std::vector<std::int64_t> strides(rank);
  std::int64_t stride = 1;
  for (std::size_t step = 0; step < rank; ++step) {
    const std::size_t k = what.src_fortran_order ? step : rank - 1 - step;
    strides[k] = stride;
    stride *= what.extents[k];
  }
  std::vector<std::byte> dst(src.size());
  for (std::int64_t n = 0; n < stride; ++n) {
    std::int64_t left = n, from = 0;
    for (std::size_t step = 0; step < rank; ++step) {
      const std::size_t k = what.dst_fortran_order ? step : rank - 1 - step;
      const auto axis = static_cast<std::size_t>(what.axes[k]);
      from += left % what.extents[axis] * strides[axis];
      left /= what.extents[axis];
    }
    std::memcpy(dst.data() + static_cast<std::size_t>(n) * element,
                src.data() + static_cast<std::size_t>(from) * element, element);
  }
  return dst;
}

}  // namespace cornerturn::files
