// Things that the arithmetic walks share: an odometer over three arrays, and a walk that needs no buffer.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/apply/args.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu {

// An odometer (odometer.hpp) with a second array, and with words of different sizes in src and dst.
class apply_walk {
 public:
  apply_walk(const fused_axes& axes, const apply::args& work, std::int64_t i, bool fast_first) noexcept
      : rank_(axes.rank) {
    for (int k = 0; k < rank_; ++k) {
      const axis& one = axes.axes[static_cast<std::size_t>(fast_first ? k : rank_ - 1 - k)];
      wheel& w = wheels_[static_cast<std::size_t>(k)];
      w = {one.extent, i % one.extent, one.src_stride * work.word_bytes, one.dst_stride * work.dst_word_bytes,
           one.second_stride * work.dst_word_bytes};
      i /= one.extent;
      src_ += w.digit * w.src;
      dst_ += w.digit * w.dst;
      second_ += w.digit * w.second;
    }
  }

  // Bytes from the word of index 0.
  [[nodiscard]] std::int64_t src() const noexcept { return src_; }
  [[nodiscard]] std::int64_t dst() const noexcept { return dst_; }
  [[nodiscard]] std::int64_t second() const noexcept { return second_; }

  void next() noexcept {
    for (int k = 0; k < rank_; ++k) {
      wheel& w = wheels_[static_cast<std::size_t>(k)];
      src_ += w.src;
      dst_ += w.dst;
      second_ += w.second;
      if (++w.digit < w.extent) return;
      src_ -= w.extent * w.src;
      dst_ -= w.extent * w.dst;
      second_ -= w.extent * w.second;
      w.digit = 0;
    }
  }

 private:
  struct wheel {
    std::int64_t extent, digit, src, dst, second;
  };
  std::array<wheel, map::max_axes> wheels_;  // the first rank_ of them
  int rank_;
  std::int64_t src_ = 0, dst_ = 0, second_ = 0;
};

// The arrays at the word of the first element of dst.
[[nodiscard]] inline arrays from_first_of_dst(const apply::view_args& work, arrays all) noexcept {
  if (all.src != nullptr) all.src += work.src_begin;
  all.dst += work.dst_begin;
  if (all.second != nullptr) all.second += work.second_begin;
  if (all.second_dst != nullptr) all.second_dst += work.second_begin;
  return all;
}

// Effect  computes units [begin, end) of problems with any strides. `work` may be cut in any way
void apply_one_by_one(const apply::args& work, const arrays& all, std::int64_t begin, std::int64_t end) noexcept;

}  // namespace cornerturn::kernels::cpu
