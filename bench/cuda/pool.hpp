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

  // Effect  allocates once for the largest of these cases; those that do not fit are left to pairs() to refuse
  void reserve(const std::vector<bench_case>& cases);

  // Effect  gives the memory back and takes it elsewhere: other physical pages, another offset
  void move(int placement);

  // Effect  pairs with fresh random sources. Three or more, so that their places differ, and enough that 4 x L2 of
  //         other traffic passes before one is met again; fewer where memory ends; one for a case that stays in L2
  // Errors  std::runtime_error when not even one pair fits
  [[nodiscard]] std::vector<buffer_pair> pairs(const bench_case& what);

  // Effect  what pairs() filled the source of pair `i` with: bytes from its begin, and the seed
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
