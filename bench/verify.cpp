// The independent walk:
//   1. fold the view, and take a run that is contiguous in src and dst as one element
//   2. walk two axes in 64 x 64 tiles: the last axis of dst, and the axis with the smallest stride in src
//   3. make one counter of all other axes and the tiles, and split it over the threads
//   4. compare all elements of a tile, and remember whether any differs
#include "bench/verify.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bench/parallel.hpp"

namespace cornerturn::bench {

namespace {

constexpr std::int64_t tile = 64;

struct walk {
  std::int64_t element_bytes = 0;
  view_axis row{1, 0, 0};         // walked in tiles; the smallest stride in src
  view_axis col{1, 0, 0};         // walked in tiles; the last axis of dst
  std::vector<view_axis> others;  // in any order
};

walk make_walk(const view& what) {
  view flat = folded(what);
  walk result{flat.element_bytes, {}, {}, {}};
  if (!flat.axes.empty() && flat.axes.back().src_stride == 1 && flat.axes.back().dst_stride == 1) {  // 1
    const std::int64_t run = flat.axes.back().extent;
    const bool divides = std::all_of(flat.axes.begin(), flat.axes.end() - 1, [run](const view_axis& axis) {
      return axis.src_stride % run == 0 && axis.dst_stride % run == 0;
    });
    if (divides) {
      flat.axes.pop_back();
      result.element_bytes *= run;
      for (view_axis& axis : flat.axes) axis = {axis.extent, axis.src_stride / run, axis.dst_stride / run};
    }
  }
  if (!flat.axes.empty()) {
    result.col = flat.axes.back();
    flat.axes.pop_back();
  }
  if (!flat.axes.empty()) {
    const auto shortest = std::min_element(flat.axes.begin(), flat.axes.end(), [](const auto& a, const auto& b) {
      return std::abs(a.src_stride) < std::abs(b.src_stride);
    });
    result.row = *shortest;
    flat.axes.erase(shortest);
  }
  result.others = flat.axes;
  return result;
}

// Bytes is the size of an element if it is a compile-time constant, else 0.
template <std::size_t Bytes>
std::int64_t first_difference(const walk& way, const std::byte* src, const std::byte* dst) {
  const auto bytes = Bytes != 0 ? static_cast<std::int64_t>(Bytes) : way.element_bytes;
  const std::int64_t row_tiles = (way.row.extent + tile - 1) / tile;
  const std::int64_t col_tiles = (way.col.extent + tile - 1) / tile;
  std::int64_t count = row_tiles * col_tiles;
  for (const view_axis& axis : way.others) count *= axis.extent;
  std::atomic<std::int64_t> found{-1};
  parallel_ranges(count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {  // 3
      std::int64_t rest = item;
      const std::int64_t col0 = rest % col_tiles * tile;
      rest /= col_tiles;
      const std::int64_t row0 = rest % row_tiles * tile;
      rest /= row_tiles;
      std::int64_t src_base = row0 * way.row.src_stride + col0 * way.col.src_stride;
      std::int64_t dst_base = row0 * way.row.dst_stride + col0 * way.col.dst_stride;
      for (auto axis = way.others.rbegin(); axis != way.others.rend(); ++axis) {
        src_base += rest % axis->extent * axis->src_stride;
        dst_base += rest % axis->extent * axis->dst_stride;
        rest /= axis->extent;
      }
      const std::int64_t rows = std::min(tile, way.row.extent - row0);
      const std::int64_t cols = std::min(tile, way.col.extent - col0);
      for (std::int64_t i = 0; i < rows; ++i) {  // 2, 4
        const std::byte* from = src + (src_base + i * way.row.src_stride) * bytes;
        const std::byte* to = dst + (dst_base + i * way.row.dst_stride) * bytes;
        bool differs = false;
        for (std::int64_t j = 0; j < cols; ++j) {
          differs |= std::memcmp(from + j * way.col.src_stride * bytes, to + j * way.col.dst_stride * bytes,
                                 Bytes != 0 ? Bytes : static_cast<std::size_t>(bytes)) != 0;
        }
        if (differs) found.store((dst_base + i * way.row.dst_stride) * bytes, std::memory_order_relaxed);
      }
    }
  });
  return found.load();
}

}  // namespace

std::string difference(const view& what, const std::byte* src, const std::byte* dst) {
  if (what.elements() == 0) return "";
  const walk way = make_walk(what);
  std::int64_t found = -1;
  switch (way.element_bytes) {
    case 1:
      found = first_difference<1>(way, src, dst);
      break;
    case 2:
      found = first_difference<2>(way, src, dst);
      break;
    case 3:
      found = first_difference<3>(way, src, dst);
      break;
    case 4:
      found = first_difference<4>(way, src, dst);
      break;
    case 8:
      found = first_difference<8>(way, src, dst);
      break;
    case 16:
      found = first_difference<16>(way, src, dst);
      break;
    default:
      found = first_difference<0>(way, src, dst);
      break;
  }
  if (found < 0) return "";
  return "an element of the dst row at byte " + std::to_string(found) + " differs";
}

}  // namespace cornerturn::bench
