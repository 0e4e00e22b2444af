// Matrices in place that are transposed into the workspace and copied back, on a GPU and on the CPU: several at a time, along the
// longest of the fixed axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/fused_axes.hpp"
#include "map/in_place.hpp"
#include "plan/strip_program.hpp"

namespace cornerturn::planning {

[[nodiscard]] inline kernels::fused_axes bytes_of(const axis* axes, int rank, std::int64_t word) noexcept {
  kernels::fused_axes made;
  for (int k = 0; k < rank; ++k) made.push({axes[k].extent, axes[k].src_stride * word, axes[k].dst_stride * word});
  return made;
}

class round_trip {
 public:
  // src and dst rows are src_pitch and dst_pitch words apart.
  round_trip(const rectangle& all, std::int64_t src_pitch, std::int64_t dst_pitch, const map::canonical& form,
             const map::in_place_form& places) noexcept
      : all_(all),
        src_pitch_(src_pitch),
        dst_pitch_(dst_pitch),
        word_(form.word_bytes),
        fixed_(places.fixed),
        rank_(places.fixed_count) {
    if (rank_ == 0) return;
    const auto end = fixed_.begin() + rank_;
    for (auto one = fixed_.begin(); one != end; ++one) matrices_ *= one->extent;
    const auto longest =
        std::max_element(fixed_.begin(), end, [](const axis& a, const axis& b) { return a.extent < b.extent; });
    batch_ = *longest;
    std::rotate(longest, longest + 1, end);
    --rank_;
  }

  [[nodiscard]] std::int64_t matrices() const noexcept { return matrices_; }
  [[nodiscard]] std::int64_t longest() const noexcept { return batch_.extent; }  // extent of the longest axis

  // Effect  passes the programs to a builder: `at_once` matrices at a time, and the rest. `more` follows the arguments of finish()
  template <class Builder, class... More>
  void build(Builder& make, std::int64_t at_once, const More&... more) {
    const std::int64_t whole = batch_.extent / at_once;
    add(make, at_once, 0, at_once, whole, more...);
    add(make, at_once, whole * at_once, batch_.extent % at_once, 1, more...);
  }

 private:
  // The batch stride need be no multiple of an element, so it is counted in words.
  template <class Builder, class... More>
  void add(Builder& make, std::int64_t at_once, std::int64_t begin, std::int64_t count, std::int64_t repeats,
           const More&... more) {
    if (count == 0 || repeats == 0) return;
    const std::int64_t words = all_.element / word_, size = all_.rows * all_.cols * words;
    problem there{.element_bytes = word_, .rank = 4};
    there.axes[0] = {count, batch_.src_stride, size};
    there.axes[1] = {all_.rows, src_pitch_, words};
    there.axes[2] = {all_.cols, words, all_.rows * words};
    there.axes[3] = {words, 1, 1};
    make.move(there, {in_place_step{.to_workspace = true}});
    problem back{.element_bytes = word_, .rank = 3};
    back.axes[0] = {count, size, batch_.src_stride};
    back.axes[1] = {all_.cols, all_.rows * words, dst_pitch_};
    back.axes[2] = {all_.rows * words, 1, 1};
    make.move(back, {in_place_step{.from_workspace = true}});
    fixed_[static_cast<std::size_t>(rank_)] = {repeats, at_once * batch_.src_stride, at_once * batch_.dst_stride};
    make.finish(bytes_of(fixed_.data(), rank_ + 1, word_), begin * batch_.src_stride * word_, more...);
  }

  rectangle all_;
  std::int64_t src_pitch_, dst_pitch_;
  std::int64_t word_;
  std::array<axis, map::max_axes> fixed_;  // but the longest
  int rank_;
  axis batch_{1, 0, 0};  // the longest one
  std::int64_t matrices_ = 1;
};

}  // namespace cornerturn::planning
