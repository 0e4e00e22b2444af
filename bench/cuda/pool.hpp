// One allocation on the device, cut into the pairs that a case rotates through.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "bench/case.hpp"
#include "bench/memory.hpp"

namespace cornerturn::bench::cuda {

class device_pool {
 public:
  device_pool(std::int64_t l2_bytes, cudaStream_t on);
  ~device_pool();
  device_pool(const device_pool&) = delete;
  device_pool& operator=(const device_pool&) = delete;

  // Effect  allocates once for the largest of these cases that fits. pairs() refuses cases that do not fit
  void reserve(const std::vector<bench_case>& cases);

  // Effect  frees the memory and allocates it again at other physical pages and another offset
  void move(int placement);

  // Effect  returns pairs with fresh random sources. There are at least three, at different addresses. Before a pair is used
  //         again, other pairs cause 4 x L2 of traffic. There are fewer pairs if memory is short, and one for a case that
  //         stays in L2
  // Errors  std::runtime_error when not even one pair fits
  [[nodiscard]] std::vector<buffer_pair> pairs(const bench_case& what);

  // Effect  return the number of random bytes in a source of pairs(), and the seed of the source of pair `i`
  [[nodiscard]] static std::int64_t source_bytes(const bench_case& what) { return what.buffer_bytes(); }
  [[nodiscard]] static std::uint64_t source_seed(std::size_t i) { return static_cast<std::uint64_t>(i) << 40; }

  [[nodiscard]] std::int64_t rotation_bytes() const { return 4 * l2_bytes_; }

 private:
  [[nodiscard]] std::int64_t wanted_pairs(const bench_case& what) const;
  void release();

  std::int64_t l2_bytes_;
  cudaStream_t on_;
  std::int64_t limit_ = 0;
  std::int64_t capacity_ = 0;
  std::int64_t shift_ = 0;
  void* spacer_ = nullptr;
  void* arena_ = nullptr;
};

}  // namespace cornerturn::bench::cuda
