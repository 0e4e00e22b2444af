// Walks fused axes in order and keeps the byte offsets in src and in dst up to date.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/fused_axes.hpp"

namespace cornerturn::kernels::cpu {

class odometer {
 public:
  // Starts at the linear index i. `fast_first`: axes[0] is the fastest axis (rows, cols). Else the last axis is the fastest
  // (outer).
  odometer(const fused_axes& axes, std::int64_t word_bytes, std::int64_t i, bool fast_first) noexcept
      : rank_(axes.rank) {
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
      wheels_;  // only the first rank_ are used; clearing all of them would take longer than a small matrix
  int rank_;
  std::int64_t src_ = 0;
  std::int64_t dst_ = 0;
};

}  // namespace cornerturn::kernels::cpu
