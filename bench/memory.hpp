// The pool of source and destination buffers that a case rotates through. So no buffer is still in the cache when it is used
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cornerturn::bench {

struct buffer_pair {
  std::byte* src = nullptr;
  std::byte* dst = nullptr;
};

inline constexpr std::int64_t guard_bytes = 64;  // poisoned and checked on either side of a destination

class memory {
 public:
  // Cost    no memory yet. huge asks for 2 MiB pages (MADV_HUGEPAGE)
  memory(bool huge, std::int64_t llc_bytes);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  // Effect  returns the pairs for one case. Before a pair is used again, other pairs cause max(4 x LLC, 1 GiB) of traffic.
  //         There are fewer pairs if they would take more than 40 % of the memory that was free at construction
  // Errors  std::runtime_error when not even one pair fits
  [[nodiscard]] std::vector<buffer_pair> pairs(std::int64_t bytes);

  // Effect  returns one pair, for a case that stays in cache
  [[nodiscard]] buffer_pair pair(std::int64_t bytes);

  // Effect  grows the pool once for the largest of many cases
  void reserve(const std::vector<std::int64_t>& sizes);

  // Effect  writes the random bytes of a source again, because a planner may have overwritten them
  void refill(std::byte* src, std::int64_t bytes) const;

  // Effect  fills a destination and its guards with a byte that no source holds. With non-temporal stores if the CPU has them
  static void poison(std::byte* dst, std::int64_t bytes);

  // Effect  returns true when the guards of the destination still hold the poison
  [[nodiscard]] static bool guards_intact(const std::byte* dst, std::int64_t bytes);

  // Effect  returns the number of bytes of a destination that hold the poison: nothing was written to them
  [[nodiscard]] static std::int64_t poisoned_bytes(const std::byte* dst, std::int64_t bytes);

  [[nodiscard]] std::int64_t rotation_bytes() const { return rotation_bytes_; }

 private:
  struct plan {
    std::int64_t count;
    std::int64_t stride;
  };
  [[nodiscard]] plan plan_for(std::int64_t bytes) const;
  void grow(std::int64_t bytes_each_side);
  void release();

  bool huge_;
  std::int64_t rotation_bytes_;
  std::int64_t limit_;
  std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
  std::int64_t capacity_ = 0;
};

}  // namespace cornerturn::bench
