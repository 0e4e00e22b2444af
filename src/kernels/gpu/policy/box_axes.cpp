#include "kernels/gpu/policy/box_axes.hpp"

#include <numeric>

#include "base/checked.hpp"

namespace cornerturn::gpu {

using base::ceil_div;
using base::magnitude;

namespace {

constexpr std::int64_t sector = 32;  // bytes

}  // namespace

void box_axes::grow(std::int64_t run_side, std::int64_t line_side) noexcept {
  const std::int64_t side = std::max(run_side, line_side);
  for (std::int64_t target = std::min<std::int64_t>({run_side, line_side, 8}); target <= side; target *= 2) {
    if (target <= run_side) extend(run_, target);
    if (target <= line_side) extend(line_, target);
  }
  for (std::int64_t target = 2 * side; elements() < most_ && target <= 2 * most_; target *= 2) {
    if (cut(line_)) extend(line_, target);  // another axis would only lengthen the table of a piece
    extend(run_, target);
  }
  for (int k = form_.rank - 1; k >= 0 && others_ < max_box_axes / 2; --k) {
    if (run_.has(k) || line_.has(k)) continue;
    const std::int64_t room = most_ / elements();
    const std::int64_t extent = form_.axes[k].extent;
    if (room < 2) break;
    if (extent > room && (cut(run_) || cut(line_) || other_is_cut_)) continue;
    if (run_.count + others_ >= max_box_axes - line_.count) break;
    set_tile(k, std::min(extent, room));
    other_[others_++] = k;
    other_is_cut_ = tile_[k] < extent;
  }
}

void box_axes::even_out() noexcept {
  for (const box_walk* one : {&run_, &line_}) {
    if (!cut(*one)) continue;
    const int k = one->axes[one->count - 1];
    const std::int64_t extent = form_.axes[k].extent, step = sector_step(*one);
    const std::int64_t even = ceil_div(extent, ceil_div(extent, tile_[k]));
    set_tile(k, std::min({tile_[k], extent, ceil_div(even, step) * step}));
  }
}

bool box_axes::lengthen_line(std::int64_t most_elements) noexcept {
  const int before = line_.count;
  while (line_.count > 0 && line_.count < max_box_axes / 2 && !cut(line_) && elements(line_) <= most_elements) {
    const int k = next(line_);
    if (k < 0 || tile_[k] == 1) break;
    line_.add(k);
  }
  return line_.count > before;
}

// The axis that continues a walk; the first axis is the one with the smallest stride. -1: there is none.
int box_axes::next(const box_walk& one) const noexcept {
  std::int64_t continued = 0;
  if (one.count > 0) {
    const axis& last = form_.axes[one.axes[one.count - 1]];
    if (!base::checked_mul(magnitude(last.*one.stride), last.extent, continued)) return -1;
  }
  const bool is_run = &one == &run_, may_descend = is_run ? allowed_.descending_run : allowed_.descending_line;
  const std::int64_t most = is_run && continued <= allowed_.bridged ? 2 * allowed_.bridged : 0;
  int best = -1;
  for (int k = 0; k < form_.rank; ++k) {
    if (form_.axes[k].*one.stride < 0 && !may_descend) continue;
    const std::int64_t stride = magnitude(form_.axes[k].*one.stride);
    if (stride == 0 || one.has(k)) continue;
    if (one.count > 0 && stride != continued && (stride < continued || stride > most)) continue;
    if (best < 0 || stride < magnitude(form_.axes[best].*one.stride)) best = k;
  }
  return best;
}

// Whole sectors, so that the next box begins at a sector. Words of 16 bytes lose by it: 31 x 33 of them reach 0.76 of a
// copy with whole sectors, 0.94 without (H200, 2026-11-21).
std::int64_t box_axes::sector_step(const box_walk& one) const noexcept {
  const std::int64_t each = elements(one) / tile_[one.axes[one.count - 1]];
  return form_.word_bytes == 16 ? 1 : sector / std::gcd(each * form_.word_bytes, sector);
}

void box_axes::extend(box_walk& one, std::int64_t target) noexcept {
  while (elements(one) < target) {
    if (cut(one)) {
      const int k = one.axes[one.count - 1];
      const std::int64_t each = elements(one) / tile_[k], step = sector_step(one);
      const std::int64_t wanted = ceil_div(ceil_div(target, each), step) * step;
      std::int64_t room = most_ / (elements() / tile_[k]);
      if (room > step) room -= room % step;
      const std::int64_t grown = std::min({form_.axes[k].extent, wanted, room});
      if (grown <= tile_[k]) {
        if (tile_[k] == 1 && one.count > 1) --one.count;  // a table of elements would have the whole walk as its piece
        return;
      }
      set_tile(k, grown);
      if (!whole(k)) return;
      continue;
    }
    if (one.count >= max_box_axes / 2) return;
    const int k = next(one);
    if (k < 0) return;
    one.add(k);
  }
}

bool box_axes::contiguous(const box_walk& one) const noexcept {
  return one.count == 0 || magnitude(form_.axes[one.axes[0]].*one.stride) == 1;
}

box_walk box_axes::whole_order(const box_walk& first) const noexcept {
  box_walk all = first;
  int last = -1;
  const auto take = [&](int k) {
    if (all.has(k) || form_.axes[k].*first.stride == 0) return;
    if (whole(k)) {
      all.add(k);
    } else {
      last = k;
    }
  };
  for (int i = 0; i < run_.count; ++i) take(run_.axes[i]);
  for (int i = 0; i < line_.count; ++i) take(line_.axes[i]);
  for (int i = 0; i < others_; ++i) take(other_[i]);
  if (last >= 0) all.add(last);
  return all;
}

int box_axes::cut_of_run() const noexcept {
  return cut(run_) ? run_.axes[run_.count - 1] : other_is_cut_ ? other_[others_ - 1] : -1;
}

int box_axes::cut_of_line() const noexcept {
  return cut(line_) && line_.axes[line_.count - 1] != cut_of_run() ? line_.axes[line_.count - 1] : -1;
}

}  // namespace cornerturn::gpu
