#include "dist/boxes.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace cornerturn::distributed {

std::int64_t box::elements() const noexcept {
  std::int64_t all = 1;
  for (int d = 0; d < rank; ++d) all *= dimensions[d].extent;
  return all;
}

box box_of(const entry& one) {
  box made;
  for (int k = 0; k < one.rank; ++k) {
    const progression& along = one.axes[k];
    made.src_at[k] = along.src_at;
    made.dst_at[k] = along.dst_at;
    if (along.count > 1) made.dimensions[made.rank++] = {k, along.count, along.src_step, along.dst_step};
    if (along.length > 1) made.dimensions[made.rank++] = {k, along.length, 1, 1};
  }
  return made;
}

void order_by(const strides& dst, box& one) {
  std::stable_sort(one.dimensions.begin(), one.dimensions.begin() + one.rank,
                   [&](const dimension& a, const dimension& b) {
                     return base::magnitude(a.dst_step * dst[a.axis]) > base::magnitude(b.dst_step * dst[b.axis]);
                   });
}

namespace {

// The extents of a whole piece.
std::array<std::int64_t, std::size_t{2} * dist::max_rank> piece_extents(const box& all, const piece_size& size) {
  std::array<std::int64_t, std::size_t{2} * dist::max_rank> extents{};
  std::int64_t elements = 1;
  int src_inner = -1;
  for (int d = 0; d < all.rank; ++d) {
    extents[d] = all.dimensions[d].extent;
    elements *= extents[d];
    if (all.dimensions[d].axis == size.src_axis && all.dimensions[d].src_step == 1) src_inner = d;
  }
  const auto cut = [&](int d, std::int64_t least) {
    if (elements <= size.elements) return;
    const std::int64_t others = elements / extents[d];
    std::int64_t fitting = std::max<std::int64_t>(size.elements / others, 1);
    if (fitting >= 128) fitting -= fitting % 64;  // whole tiles, and pointers of equal alignment
    // Parts are equal, so that no last one has short rows: pieces with rows of 64 and of 15 to 25 KiB by turns reach 0.80 of the
    // copy engines' rate (8-byte elements, 2 H200, 2026-11-27).
    const std::int64_t parts =
        fitting <= least ? std::max<std::int64_t>(extents[d] / least, 1) : base::ceil_div(extents[d], fitting);
    std::int64_t length = base::ceil_div(extents[d], parts);
    if (length >= 128) length = base::ceil_div(length, std::int64_t{64}) * 64;
    extents[d] = std::min(extents[d], length);
    elements = others * extents[d];
  };
  const int dst_inner = all.rank - 1;
  for (int d = 0; d < dst_inner; ++d) {
    if (d != src_inner) cut(d, 1);
  }
  if (dst_inner >= 0) cut(dst_inner, size.row);
  if (src_inner >= 0) cut(src_inner, 1);
  if (dst_inner >= 0) cut(dst_inner, 1);
  return extents;
}

}  // namespace

void for_each_piece(const box& all, const piece_size& size, const std::function<void(const box&)>& each) {
  const auto extents = piece_extents(all, size);
  std::array<std::int64_t, std::size_t{2} * dist::max_rank> begin{};
  for (;;) {
    box one = all;
    for (int d = 0; d < all.rank; ++d) {
      dimension& along = one.dimensions[d];
      along.extent = std::min(extents[d], all.dimensions[d].extent - begin[d]);
      one.src_at[along.axis] += begin[d] * along.src_step;
      one.dst_at[along.axis] += begin[d] * along.dst_step;
    }
    each(one);
    int d = all.rank - 1;
    while (d >= 0 && (begin[d] += extents[d]) >= all.dimensions[d].extent) begin[d--] = 0;
    if (d < 0) return;
  }
}

placed place(const box& one, std::int64_t element_bytes, const strides* src, const strides* dst) {
  placed made;
  made.what.element_bytes = element_bytes;
  made.what.rank = one.rank;
  std::int64_t packed = 1;
  for (int d = one.rank - 1; d >= 0; --d) {
    const dimension& along = one.dimensions[d];
    made.what.axes[d] = {.extent = along.extent,
                         .src_stride = src == nullptr ? packed : along.src_step * (*src)[along.axis],
                         .dst_stride = dst == nullptr ? packed : along.dst_step * (*dst)[along.axis]};
    packed *= along.extent;
  }
  for (int k = 0; k < dist::max_rank; ++k) {
    if (src != nullptr) made.src_offset += one.src_at[k] * (*src)[k];
    if (dst != nullptr) made.dst_offset += one.dst_at[k] * (*dst)[k];
  }
  return made;
}

std::vector<std::int64_t> shape_of(const problem& what) {
  std::vector<std::int64_t> shape;
  for (int k = 0; k < what.rank; ++k) {
    shape.insert(shape.end(), {what.axes[k].extent, what.axes[k].src_stride, what.axes[k].dst_stride});
  }
  return shape;
}

}  // namespace cornerturn::distributed
