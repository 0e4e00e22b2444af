#include "boxes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

// Shorter runs are slow; longer runs gain nothing. A pwrite of 64 KiB takes a few times the bare system call.
// A source run of 1 KiB is sixteen cache lines, enough for the hardware prefetcher.
constexpr double good_dst_run = 256 << 10;
constexpr double good_src_run = 1 << 10;

double run_bytes(const problem& whole, std::span<const std::int64_t> box, std::span<const int> fastest_first) {
  auto run = static_cast<double>(whole.element_bytes);
  for (const int k : fastest_first) {
    run *= static_cast<double>(box[static_cast<std::size_t>(k)]);
    if (box[static_cast<std::size_t>(k)] != whole.axes[static_cast<std::size_t>(k)].extent) break;
  }
  return run;
}

}  // namespace

problem file_problem(std::span<const std::int64_t> shape, bool fortran_order, std::span<const int> axes,
                     std::int64_t element_bytes) {
  const int rank = static_cast<int>(shape.size());
  std::vector<std::int64_t> src_strides(shape.size(), 1);
  std::int64_t stride = 1;
  for (int step = 0; step < rank; ++step) {
    const auto k = static_cast<std::size_t>(fortran_order ? step : rank - 1 - step);
    src_strides[k] = stride;
    stride *= shape[k];
  }
  std::vector<axis> kept;
  for (const int k : axes) {
    const axis next{shape[static_cast<std::size_t>(k)], src_strides[static_cast<std::size_t>(k)], 0};
    if (next.extent == 1) continue;
    if (!kept.empty() && kept.back().src_stride == next.extent * next.src_stride) {
      kept.back().extent *= next.extent;
      kept.back().src_stride = next.src_stride;
    } else {
      kept.push_back(next);
    }
  }
  if (kept.size() > static_cast<std::size_t>(max_rank)) {
    throw failure(fmt::format("the array has {} axes that cannot be folded, wanted at most {}", kept.size(), max_rank));
  }
  problem what;
  what.element_bytes = element_bytes;
  what.rank = static_cast<int>(kept.size());
  stride = 1;
  for (std::size_t k = kept.size(); k-- > 0;) {
    kept[k].dst_stride = stride;
    stride *= kept[k].extent;
    what.axes[k] = kept[k];
  }
  return what;
}

// Halves one axis at a time until the box fits. Each step picks the axis that keeps the longest runs on both sides.
// A split of a slow dst axis shortens src runs, and a split of a slow src axis shortens dst runs.
// The score is therefore the sum of the logarithms of both run lengths.
std::vector<std::int64_t> choose_box(const problem& whole, std::int64_t target_bytes) {
  const auto rank = static_cast<std::size_t>(whole.rank);
  std::vector<std::int64_t> box(rank);
  for (std::size_t k = 0; k < rank; ++k) box[k] = whole.axes[k].extent;
  std::vector<int> dst_order(rank);
  std::iota(dst_order.rbegin(), dst_order.rend(), 0);
  std::vector<int> src_order(dst_order);
  std::sort(src_order.begin(), src_order.end(), [&](int a, int b) {
    return whole.axes[static_cast<std::size_t>(a)].src_stride < whole.axes[static_cast<std::size_t>(b)].src_stride;
  });
  const auto bytes = [&] {
    return std::accumulate(box.begin(), box.end(), static_cast<double>(whole.element_bytes),
                           [](double product, std::int64_t extent) { return product * static_cast<double>(extent); });
  };
  while (bytes() > static_cast<double>(target_bytes)) {
    double best = -1;
    std::size_t best_axis = rank;
    for (std::size_t k = 0; k < rank; ++k) {
      if (box[k] <= 1) continue;
      const std::int64_t before = box[k];
      box[k] = (before + 1) / 2;
      const double score = std::log2(std::min(run_bytes(whole, box, dst_order), good_dst_run)) +
                           std::log2(std::min(run_bytes(whole, box, src_order), good_src_run));
      box[k] = before;
      if (score > best) {
        best = score;
        best_axis = k;
      }
    }
    if (best_axis == rank) break;  // one element is larger than the target
    box[best_axis] = (box[best_axis] + 1) / 2;
  }
  // Multiples of 64 elements: whole cache lines on the side with the contiguous axis, for any element size.
  for (std::size_t k = 0; k < rank; ++k) {
    if (box[k] >= 128 && box[k] < whole.axes[k].extent) {
      box[k] = std::min((box[k] + 63) / 64 * 64, whole.axes[k].extent);
    }
  }
  return box;
}

box_grid::box_grid(const problem& whole, std::vector<std::int64_t> box) : whole_(whole), box_(std::move(box)) {
  for (std::size_t k = 0; k < box_.size(); ++k) count_ *= (whole_.axes[k].extent + box_[k] - 1) / box_[k];
  for (std::size_t k = box_.size(); k-- > 0;) {
    ++run_axes_;
    if (box_[k] != whole_.axes[k].extent) break;
  }
}

std::int64_t box_grid::buffer_bytes() const noexcept {
  std::int64_t bytes = whole_.element_bytes;
  for (const std::int64_t extent : box_) bytes *= extent;
  return bytes;
}

box_grid::piece box_grid::at(std::int64_t index) const {
  piece one{whole_, 0, 0, 1};
  for (std::size_t k = box_.size(); k-- > 0;) {
    const axis& full = whole_.axes[k];
    const std::int64_t parts = (full.extent + box_[k] - 1) / box_[k];
    const std::int64_t first = index % parts * box_[k];
    index /= parts;
    one.what.axes[k].extent = std::min(box_[k], full.extent - first);
    one.src_offset += first * full.src_stride;
    one.dst_offset += first * full.dst_stride;
  }
  std::int64_t stride = 1;
  for (std::size_t k = box_.size(); k-- > 0;) {
    one.what.axes[k].dst_stride = stride;
    stride *= one.what.axes[k].extent;
    if (k + static_cast<std::size_t>(run_axes_) >= box_.size()) one.run = stride;
  }
  return one;
}

std::int64_t box_grid::run_offset(const piece& one, std::int64_t run_index) const {
  std::int64_t offset = one.dst_offset;
  for (std::size_t k = box_.size() - static_cast<std::size_t>(run_axes_); k-- > 0;) {
    offset += run_index % one.what.axes[k].extent * whole_.axes[k].dst_stride;
    run_index /= one.what.axes[k].extent;
  }
  return offset;
}

}  // namespace cornerturn::cli
