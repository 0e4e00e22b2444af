// Makes the table of a block.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/step/args.hpp"

namespace cornerturn::kernels::cpu::step {

// Effect  fills the table of a block of `count` indices of the axis that is cut. Windows are inside the bytes that the elements of
//         the block span in src, or the only window is loaded by `loaded`
// Returns false if the block has more windows than a table, or bytes of dst beyond a vector
[[nodiscard]] inline bool fill_table(const cut_axis& cut, std::int64_t count, block_table& made) noexcept {
  struct word_place {
    std::int64_t src, dst;
  };
  std::array<word_place, most_vector> words{};
  const std::int64_t word = cut.word_bytes;
  std::size_t total = 0;
  std::array<std::int64_t, map::max_axes + 1> digit{};
  std::int64_t src = 0, dst = 0;
  for (std::int64_t k = 0; k < cut.inner.total * count; ++k) {
    if (total == words.size() || dst + word > cut.vector) return false;
    words[total++] = {src, dst};
    for (int a = 0; a <= cut.inner.rank; ++a) {
      const axis& one = cut.inner.axes[static_cast<std::size_t>(a)];
      const bool is_cut = a == cut.inner.rank;
      const std::int64_t src_step = is_cut ? cut.src_step : one.src_stride * word;
      const std::int64_t dst_step = is_cut ? cut.dst_step : one.dst_stride * word;
      const std::int64_t extent = is_cut ? count : one.extent;
      src += src_step;
      dst += dst_step;
      if (++digit[static_cast<std::size_t>(a)] < extent) break;
      src -= extent * src_step;
      dst -= extent * dst_step;
      digit[static_cast<std::size_t>(a)] = 0;
    }
  }
  std::sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(total),
            [](const word_place& a, const word_place& b) { return a.src < b.src; });
  const std::int64_t low = words[0].src, high = words[total - 1].src + word;
  made = {};
  for (std::size_t first = 0, k = 0; first < total; first = k) {
    if (made.windows == std::min(most_windows, cut.vector)) return false;
    // Not beyond the last element; a block that is shorter than a vector has one window.
    const std::int64_t begin = std::max(std::min(words[first].src, high - cut.vector), low);
    const auto window = static_cast<std::size_t>(made.windows++);
    made.offset[window] = begin;
    for (; k < total && words[k].src + word <= begin + cut.vector; ++k) {
      for (std::int64_t byte = 0; byte < word; ++byte) {
        const auto at = static_cast<std::size_t>(words[k].dst + byte);
        made.place[at] = static_cast<std::uint8_t>(words[k].src - begin + byte);
        made.taken[window] |= std::uint64_t{1} << at;
        made.stored |= std::uint64_t{1} << at;
      }
    }
  }
  made.loaded = high - low >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (high - low)) - 1;
  return made.windows <= most_windows;
}

// Effect  cuts `one`, whose elements are cut.inner, into blocks of at most `vector` bytes
inline void cut_along(cut_axis& cut, const axis& one, std::int64_t word, std::int64_t vector) noexcept {
  std::int64_t span = word;
  for (int k = 0; k < cut.inner.rank; ++k) {
    const axis& inner = cut.inner.axes[static_cast<std::size_t>(k)];
    span += (inner.extent - 1) * inner.dst_stride * word;
  }
  cut.word_bytes = word;
  cut.src_step = one.src_stride * word;
  cut.dst_step = one.dst_stride * word;
  cut.tile = std::clamp((vector - span) / cut.dst_step + 1, std::int64_t{1}, one.extent);
  cut.vector = vector;
}

// Makes the table, of fewer indices if a block would have too many windows. No table: words are moved one by one.
inline void fill(cut_axis& cut, block_table& blocks) noexcept {
  const bool has_gaps = cut.dst_step != cut.inner.total * cut.word_bytes;
  const bool is_word = cut.inner.total * cut.tile == 1;
  if (is_word || (cut.vector == 16 && has_gaps)) cut.vector = 0;
  while (cut.vector > 0 && !fill_table(cut, cut.tile, blocks)) {
    if (cut.tile == 1) cut.vector = 0;
    cut.tile = base::ceil_div(cut.tile, std::int64_t{2});
  }
  // A window for each element: it is faster to copy them one by one, narrow words excepted, and elements that are near each other in src
  // and apart in dst.
  const bool is_far = base::magnitude(cut.src_step) >= wide_step_bytes;
  const bool copies = cut.inner.total == 1 ? cut.word_bytes >= 4 : cut.is_run() && (!has_gaps || is_far);
  if (copies && cut.vector > 0 && blocks.windows == cut.tile) cut.vector = 0;
}

}  // namespace cornerturn::kernels::cpu::step
