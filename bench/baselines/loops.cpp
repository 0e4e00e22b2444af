// Loops of ten lines, as a user writes them for one element size: in the order of dst, in the order of src, and in blocks of
// 16 x 16. They are peers of cases in cache, where no library is far ahead of them. Single-threaded.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "bench/baselines/baselines.hpp"

namespace cornerturn::bench {

namespace {

using axes_of_loop = std::vector<view_axis>;  // the last one is the innermost
constexpr std::size_t largest_element = 64;   // each size has its own code; larger elements have one code
constexpr std::int64_t block = 16;

template <std::size_t Bytes>
void copy_element(const std::byte* src, std::byte* dst, std::int64_t bytes) {
  std::memcpy(dst, src, Bytes == 0 ? static_cast<std::size_t>(bytes) : Bytes);
}

template <std::size_t Bytes>
void nest(const std::byte* src, std::byte* dst, std::int64_t bytes, const view_axis* axes, std::size_t rank) {
  for (std::int64_t i = 0; i < axes->extent; ++i) {
    const std::byte* const from = src + i * axes->src_stride;
    std::byte* const to = dst + i * axes->dst_stride;
    if (rank == 1) {
      copy_element<Bytes>(from, to, bytes);
    } else {
      nest<Bytes>(from, to, bytes, axes + 1, rank - 1);
    }
  }
}

template <std::size_t Bytes>
void blocks(const std::byte* src, std::byte* dst, std::int64_t bytes, const view_axis* axes, std::size_t rank) {
  if (rank > 2) {
    for (std::int64_t i = 0; i < axes->extent; ++i) {
      blocks<Bytes>(src + i * axes->src_stride, dst + i * axes->dst_stride, bytes, axes + 1, rank - 1);
    }
    return;
  }
  const view_axis rows = axes[0], cols = axes[1];
  for (std::int64_t row = 0; row < rows.extent; row += block) {
    for (std::int64_t col = 0; col < cols.extent; col += block) {
      const std::int64_t rows_end = std::min(row + block, rows.extent), cols_end = std::min(col + block, cols.extent);
      for (std::int64_t i = row; i < rows_end; ++i) {
        for (std::int64_t j = col; j < cols_end; ++j) {
          copy_element<Bytes>(src + i * rows.src_stride + j * cols.src_stride,
                              dst + i * rows.dst_stride + j * cols.dst_stride, bytes);
        }
      }
    }
  }
}

using loop = void (*)(const std::byte* src, std::byte* dst, std::int64_t bytes, const view_axis* axes,
                      std::size_t rank);

template <std::size_t... Bytes>
constexpr std::array<loop, sizeof...(Bytes)> nests_of(std::index_sequence<Bytes...>) {
  return {nest<Bytes>...};
}
template <std::size_t... Bytes>
constexpr std::array<loop, sizeof...(Bytes)> blocks_of(std::index_sequence<Bytes...>) {
  return {blocks<Bytes>...};
}

class loop_runner final : public runner {
 public:
  loop_runner(loop body, std::int64_t bytes, axes_of_loop axes) : body_(body), bytes_(bytes), axes_(std::move(axes)) {}
  void run(const std::byte* src, std::byte* dst) override { body_(src, dst, bytes_, axes_.data(), axes_.size()); }

 private:
  loop body_;
  std::int64_t bytes_;
  axes_of_loop axes_;
};

// The axes with strides in bytes; an element counts as one axis.
axes_of_loop axes_of(const setup& how) {
  view flat = folded(how.what);
  if (flat.axes.empty()) flat.axes.push_back({1, 1, 1});
  for (view_axis& axis : flat.axes) {
    axis.src_stride *= flat.element_bytes;
    axis.dst_stride *= flat.element_bytes;
  }
  return flat.axes;
}

enum class order { dst, src, blocks };

template <order Order>
std::unique_ptr<runner> prepare_loop(const setup& how) {
  static constexpr auto nests = nests_of(std::make_index_sequence<largest_element + 1>());
  static constexpr auto blocked = blocks_of(std::make_index_sequence<largest_element + 1>());
  const std::int64_t bytes = how.what.element_bytes;
  const std::size_t code = static_cast<std::size_t>(bytes) > largest_element ? 0 : static_cast<std::size_t>(bytes);
  axes_of_loop axes = axes_of(how);
  const auto by_src = [](const view_axis& a, const view_axis& b) {
    return std::abs(a.src_stride) > std::abs(b.src_stride);
  };
  if (Order == order::src) std::stable_sort(axes.begin(), axes.end(), by_src);
  if (Order == order::blocks) {
    if (axes.size() < 2) return nullptr;
    // The axis with the smallest stride of src becomes the last but one; dst's stays the last.
    const auto inner = std::max_element(axes.begin(), axes.end() - 1, by_src);
    std::rotate(inner, inner + 1, axes.end() - 1);
  }
  return std::make_unique<loop_runner>(Order == order::blocks ? blocked[code] : nests[code], bytes, std::move(axes));
}

}  // namespace

void add_loops(std::vector<contender>& list) {
  list.push_back({"loop_dst_order", role::peer, false, prepare_loop<order::dst>});
  list.push_back({"loop_src_order", role::peer, false, prepare_loop<order::src>});
  list.push_back({"loop_blocks", role::peer, false, prepare_loop<order::blocks>});
}

}  // namespace cornerturn::bench
