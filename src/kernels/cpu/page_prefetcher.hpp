// Prefetches a src that is read from its begin to its end: one line of each of the next four pages in turn.
//
//   page            0         1         2         3
//   order of lines  0 4 8 ..  1 5 9 ..  2 6 10 .. 3 7 11 ..
//
// One stream of loads stalls at each page start. The prefetches open four pages early, so no page start stalls, and loads
// and stores keep their order. A copy on one core reaches 14.7 GB/s with one prefetched stream at any distance, and 18.0
// GB/s with four pages in turn (Intel Xeon, model 143, 2026-11-22).
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornerturn::kernels::cpu {

class page_prefetcher {
 public:
  page_prefetcher() = default;  // prefetches nothing
  // from: the first byte that is read
  explicit page_prefetcher(const std::byte* from) noexcept {
    const auto inside = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(from) % page);
    next_ = from - inside + pages * page + inside / (pages * line) * line;
  }

  // Prefetches as many bytes as were just read, a line of each page together.
  void fetch(std::int64_t bytes) noexcept {
    if (next_ == nullptr) return;
    for (owed_ += bytes; owed_ >= pages * line; owed_ -= pages * line) {
      for (std::int64_t k = 0; k < pages; ++k) __builtin_prefetch(next_ + k * page, 0, 3);
      next_ += line;
      if (reinterpret_cast<std::uintptr_t>(next_) % page == 0) next_ += (pages - 1) * page;
    }
  }

 private:
  static constexpr std::int64_t line = 64;
  static constexpr std::int64_t page = 4096;
  static constexpr std::int64_t pages = 4;

  const std::byte* next_ = nullptr;  // the next line, in the first of the four pages that are prefetched
  std::int64_t owed_ = 0;            // bytes that were read, minus bytes that were prefetched in return
};

}  // namespace cornerturn::kernels::cpu
