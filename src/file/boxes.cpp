#include "file/boxes.hpp"

#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::files {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

// Checks the fields, and that all bytes fit 63 bits.
void check(const stored_array& what) {
  const std::size_t rank = what.extents.size();
  if (what.element_bytes < 1) refuse("element_bytes is " + std::to_string(what.element_bytes) + ", wanted 1 or more");
  if (what.axes.size() != rank) {
    refuse("axes has " + std::to_string(what.axes.size()) + " axes, but the array has " + std::to_string(rank));
  }
  std::vector<bool> seen(rank, false);
  for (const int k : what.axes) {
    const bool valid = k >= 0 && static_cast<std::size_t>(k) < rank;
    if (!valid || seen[static_cast<std::size_t>(k)]) {
      refuse("axes has " + std::to_string(k) + (valid ? " twice" : "") + ", wanted each of 0 to " +
             std::to_string(static_cast<std::int64_t>(rank) - 1) + " once");
    }
    seen[static_cast<std::size_t>(k)] = true;
  }
  std::int64_t bytes = what.element_bytes;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t extent = what.extents[k];
    if (extent < 0)
      refuse("axis " + std::to_string(k) + " has extent " + std::to_string(extent) + ", wanted 0 or more");
    if (extent > 0 && !base::checked_mul(bytes, extent, bytes)) {
      throw error(status::overflow, "the array has 2^63 bytes or more at axis " + std::to_string(k) + ", wanted fewer");
    }
  }
}

[[noreturn]] void refuse_rank(std::size_t rank) {
  refuse("the array has " + std::to_string(rank) + " axes that cannot be folded, wanted at most " +
         std::to_string(max_rank));
}

}  // namespace

std::int64_t bytes_of(const permuted& what) noexcept {
  std::int64_t bytes = what.element_bytes;
  for (int k = 0; k < what.rank; ++k) bytes *= what.extents[static_cast<std::size_t>(k)];
  return bytes;
}

// canonicalize() takes max_rank axes at most, so axes that fold in the order of dst are folded before.
permuted folded(const stored_array& what) {
  check(what);
  const int rank = static_cast<int>(what.extents.size());
  const auto extent = [&](int k) { return what.extents[static_cast<std::size_t>(k)]; };
  std::vector<std::int64_t> src_strides(what.extents.size(), 1);
  std::int64_t stride = 1;
  for (int step = 0; step < rank; ++step) {
    const int k = what.src_fortran_order ? step : rank - 1 - step;
    src_strides[static_cast<std::size_t>(k)] = stride;
    stride *= std::max<std::int64_t>(extent(k), 1);
  }
  std::vector<int> order(what.axes);
  if (what.dst_fortran_order) std::reverse(order.begin(), order.end());
  std::vector<axis> kept;  // in the order of dst, slowest first
  for (const int k : order) {
    const axis next{extent(k), src_strides[static_cast<std::size_t>(k)], 0};
    if (next.extent == 1) continue;
    if (!kept.empty() && kept.back().src_stride == next.extent * next.src_stride) {
      kept.back().extent *= next.extent;
      kept.back().src_stride = next.src_stride;
    } else {
      kept.push_back(next);
    }
  }
  if (kept.size() > static_cast<std::size_t>(max_rank)) refuse_rank(kept.size());
  problem whole;
  whole.element_bytes = what.element_bytes;
  whole.rank = static_cast<int>(kept.size());
  stride = 1;
  for (std::size_t k = kept.size(); k-- > 0;) {
    kept[k].dst_stride = stride;
    stride *= std::max<std::int64_t>(kept[k].extent, 1);
    whole.axes[k] = kept[k];
  }
  map::canonical form = map::canonicalize(whole);
  if (form.rank > max_rank) {  // the words of an element are one axis too many
    form.word_bytes = whole.element_bytes;
    form.rank = whole.rank;
    std::copy_n(whole.axes.begin(), whole.rank, form.axes.begin());
  }
  permuted made;
  made.element_bytes = form.word_bytes;
  if (form.empty) {
    made.rank = 1;  // of extent 0
    return made;
  }
  made.rank = form.rank;
  const auto src_stride = [&](int k) { return form.axes[static_cast<std::size_t>(k)].src_stride; };
  for (int k = 0; k < form.rank; ++k) {
    int before = 0;  // axes of larger strides in src
    for (int other = 0; other < form.rank; ++other) {
      if (src_stride(other) > src_stride(k) || (src_stride(other) == src_stride(k) && other < k)) ++before;
    }
    made.extents[static_cast<std::size_t>(k)] = form.axes[static_cast<std::size_t>(k)].extent;
    made.axes[static_cast<std::size_t>(k)] = before;
  }
  return made;
}

permuted unfolded(const stored_array& what) {
  check(what);
  if (what.src_fortran_order || what.dst_fortran_order) {
    refuse("the array has a Fortran order, but a store of boxes has no order of bytes. Wanted: other axes");
  }
  if (what.extents.size() > static_cast<std::size_t>(max_rank)) {
    refuse("the array has " + std::to_string(what.extents.size()) + " axes, wanted at most " +
           std::to_string(max_rank));
  }
  permuted made;
  made.element_bytes = what.element_bytes;
  made.rank = static_cast<int>(what.extents.size());
  for (std::size_t k = 0; k < what.axes.size(); ++k) {
    made.axes[k] = what.axes[k];
    made.extents[k] = what.extents[static_cast<std::size_t>(what.axes[k])];
  }
  return made;
}

box_grid::box_grid(std::span<const std::int64_t> extents, std::span<const std::int64_t> box) noexcept
    : rank_(extents.size()) {
  for (std::size_t k = 0; k < rank_; ++k) {
    extents_[k] = extents[k];
    box_[k] = box[k];
    count_ *= base::ceil_div(extents[k], box[k]);
  }
}

box_grid::piece box_grid::at(std::int64_t number) const noexcept {
  std::array<int, map::max_axes> order{};
  for (std::size_t k = 0; k < rank_; ++k) order[k] = static_cast<int>(k);
  return at(number, {order.data(), rank_});
}

box_grid::piece box_grid::at(std::int64_t number, std::span<const int> order) const noexcept {
  piece one;
  for (std::size_t step = rank_; step-- > 0;) {
    const auto k = static_cast<std::size_t>(order[step]);
    const std::int64_t parts = base::ceil_div(extents_[k], box_[k]);
    one.first[k] = number % parts * box_[k];
    one.extents[k] = std::min(box_[k], extents_[k] - one.first[k]);
    number /= parts;
  }
  return one;
}

}  // namespace cornerturn::files
