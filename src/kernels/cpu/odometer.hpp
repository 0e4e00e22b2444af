// Walks a chain of axes in order and keeps the byte offsets on both sides up to date.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/job.hpp"

namespace cornerturn::kernels::cpu {

class odometer {
 public:
  // Starts at the linear index i. `fast_first`: axes[0] is the fastest (rows, cols), else the last one is (outer).
  odometer(const chain& axes, std::int64_t word_bytes, std::int64_t i, bool fast_first) noexcept : rank_(axes.rank) {
    for (int k = 0; k < rank_; ++k) {
      const axis& one = axes.axes[fast_first ? k : rank_ - 1 - k];
      wheel& w = wheels_[k];
      w = {one.extent, 0, one.src_stride * word_bytes, one.dst_stride * word_bytes};
      if (i != 0) {
        w.digit = i % one.extent;
        i /= one.extent;
        src_ += w.digit * w.src;
        dst_ += w.digit * w.dst;
      }
    }
  }

  [[nodiscard]] std::int64_t src() const noexcept { return src_; }
  [[nodiscard]] std::int64_t dst() const noexcept { return dst_; }

  void next() noexcept {
    for (int k = 0; k < rank_; ++k) {
      wheel& w = wheels_[k];
      src_ += w.src;
      dst_ += w.dst;
      if (++w.digit < w.extent) return;
      src_ -= w.extent * w.src;
      dst_ -= w.extent * w.dst;
      w.digit = 0;
    }
  }

 private:
  struct wheel {
    std::int64_t extent;
    std::int64_t digit;
    std::int64_t src;
    std::int64_t dst;
  };
  std::array<wheel, map::max_axes>
      wheels_;  // the first rank_ of them; clearing all would take longer than a small matrix
  int rank_;
  std::int64_t src_ = 0;
  std::int64_t dst_ = 0;
};

// Walks ahead of the units from `begin` on, to fetch what they read, pieces of src of so many bytes: `ahead` units, or
// where the orders of dst and src alternate and a piece is less than two lines, all that alternate, in the order of src.
inline odometer scout_of(const job& work, std::int64_t begin, std::int64_t ahead, std::int64_t piece_bytes) noexcept {
  chain order = work.outer;
  if (work.alternates && piece_bytes < 128) {
    axis& last = order.axes[order.rank - 1];
    axis& before = order.axes[order.rank - 2];
    std::swap(last, before);
    ahead = last.extent * before.extent;
  }
  return {order, work.form.word_bytes, std::min(begin + ahead, order.total - 1), false};
}

}  // namespace cornerturn::kernels::cpu
