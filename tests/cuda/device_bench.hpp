// Memory of one problem on a GPU, with the oracle of tests/kernels beside it.
//
//   src   random bytes that hold no `poison`, at any misalignment; device memory round it holds other bytes
//   dst   `poison` everywhere, guards on either side. After a move all of it comes back and is compared
//
// With CORNERTURN_TEST_TIGHT=1 in the environment every side is an allocation of its own that ends where the problem
// ends, so that compute-sanitizer sees one byte too many.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../kernels/oracle.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::testing {

#define EXPECT_CUDA(call) EXPECT_EQ(call, cudaSuccess)
#define ASSERT_CUDA(call) ASSERT_EQ(call, cudaSuccess)

inline std::int64_t environment(const char* name, std::int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoll(text, nullptr, 0);
}

// Device memory that grows and is kept, so that a test of thousands of problems allocates a few times.
class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(std::size_t bytes) { reserve(bytes); }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  ~device_memory() { static_cast<void>(cudaFree(memory_)); }

  std::byte* reserve(std::size_t bytes, bool exactly = false) {
    if (bytes <= bytes_ && !exactly) return memory_;
    static_cast<void>(cudaFree(memory_));
    memory_ = nullptr;
    bytes_ = exactly ? bytes : 2 * bytes;
    void* made = nullptr;
    if (cudaMalloc(&made, std::max<std::size_t>(bytes_, 1)) != cudaSuccess) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(made);
    return memory_;
  }
  [[nodiscard]] std::byte* get() const { return memory_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

struct arena {
  device_memory src, dst;
};

class device_bench {
 public:
  // Misalignments are bytes from a multiple of 256 to the lowest byte of a side.
  device_bench(const problem& what, std::size_t src_misalignment, std::size_t dst_misalignment, arena& memory)
      : src_range_(range_of(what, &axis::src_stride)), dst_range_(range_of(what, &axis::dst_stride)) {
    const bool tight = environment("CORNERTURN_TEST_TIGHT", 0) != 0;
    const std::size_t guard = tight ? 0 : guard_bytes;
    dst_begin_ = guard + dst_misalignment;
    dst_bytes_ = dst_begin_ + dst_range_.size() + guard;
    src_begin_ = guard + src_misalignment;
    src_bytes_ = src_begin_ + src_range_.size() + guard;
    src_ = memory.src.reserve(src_bytes_, tight);
    dst_ = memory.dst.reserve(dst_bytes_, tight);
    found_.resize(dst_bytes_);
    wanted_.assign(dst_bytes_, poison);
    fill(what, 0);
  }

  // New contents: the pattern from another byte on.
  void fill(const problem& what, std::size_t seed) {
    const std::byte* bytes = pattern(seed + src_bytes_) + seed;
    EXPECT_CUDA(cudaMemcpy(src_, bytes, src_bytes_, cudaMemcpyHostToDevice));
    const std::byte* const from = bytes + src_begin_ - src_range_.lo;
    std::byte* const to = wanted_.data() + dst_begin_ - dst_range_.lo;
    const auto size = static_cast<std::size_t>(what.element_bytes);
    walk(what, [&](std::int64_t s, std::int64_t d) {
      std::memcpy(to + d * what.element_bytes, from + s * what.element_bytes, size);
    });
  }

  [[nodiscard]] const std::byte* src() const { return src_ + src_begin_ - src_range_.lo; }
  [[nodiscard]] std::byte* dst() const { return dst_ + dst_begin_ - dst_range_.lo; }

  void clear(cudaStream_t stream = nullptr) {
    EXPECT_CUDA(cudaMemsetAsync(dst_, static_cast<int>(poison), dst_bytes_, stream));
  }

  // "" when dst is as it must be, else the first byte that is not. Waits for the stream.
  [[nodiscard]] std::string difference(cudaStream_t stream = nullptr) {
    cudaError_t said = cudaMemcpyAsync(found_.data(), dst_, dst_bytes_, cudaMemcpyDeviceToHost, stream);
    if (said == cudaSuccess) said = cudaStreamSynchronize(stream);
    if (said != cudaSuccess) return std::string("CUDA: ") + cudaGetErrorString(said);
    if (std::memcmp(found_.data(), wanted_.data(), dst_bytes_) == 0) return "";
    std::size_t k = 0, wrong = 0;
    while (found_[k] == wanted_[k]) ++k;
    for (std::size_t i = k; i < dst_bytes_; ++i) wrong += found_[i] != wanted_[i];
    const char* kind = wanted_[k] == poison  ? " (a gap or guard was written)"
                       : found_[k] == poison ? " (never written)"
                                             : "";
    return "byte " +
           std::to_string(static_cast<std::int64_t>(k) - static_cast<std::int64_t>(dst_begin_) + dst_range_.lo) +
           " of dst is " + std::to_string(static_cast<int>(found_[k])) + ", wanted " +
           std::to_string(static_cast<int>(wanted_[k])) + kind + "; " + std::to_string(wrong) + " of " +
           std::to_string(dst_bytes_) + " bytes are wrong";
  }

 private:
  static constexpr std::size_t guard_bytes = 256;
  byte_range src_range_, dst_range_;
  std::size_t src_begin_ = 0, src_bytes_ = 0, dst_begin_ = 0, dst_bytes_ = 0;
  std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
  std::vector<std::byte> wanted_, found_;
};

class user_stream {
 public:
  explicit user_stream(unsigned flags = cudaStreamNonBlocking) {
    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream_, flags));
  }
  user_stream(const user_stream&) = delete;
  user_stream& operator=(const user_stream&) = delete;
  ~user_stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace cornerturn::testing
