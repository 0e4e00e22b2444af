// Rectangles in place.
//
// cpu_cycles   rows.total x cols.total items of element_bytes lie row by row and shall lie column by column. A cycle is
//              a list of places, each of which takes the item of the next: the first item is kept aside, all others
//              move once, and each is written to lines that were read just before. A bit for each place says that it is
//              done. A unit is a slice of `panel` bytes of all items, so tasks share nothing. A slice is moved in parts
//              that stay in the cache from the read of a place to its write.
// cpu_pitch    rows of element_bytes move from src_stride to dst_stride bytes apart, away from what they would
//              overwrite. A unit is a share of the rows. What its neighbour writes over before it is read lies in the
//              workspace.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/cycles.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {
namespace {

using base::ceil_div;

// Items that are on their way while one moves: enough for those of a few lines, and of the longest parts 64 KiB. With
// one on its way float32 10000 x 7000 takes a quarter longer than with four (AMD EPYC 4th generation, 2026-11-21).
constexpr std::size_t fetched_ahead = 8;

// The place whose item belongs at `place`.
class cycle_map {
 public:
  explicit cycle_map(const job& work) noexcept
      : rows_(work.rows.total), cols_(work.cols.total), back_rows_(work.turned_rows), back_cols_(work.turned_cols) {}

  [[nodiscard]] std::int64_t places() const noexcept { return rows_ * cols_; }
  [[nodiscard]] std::int64_t source(std::int64_t place) const noexcept {
    std::int64_t col = place / rows_;
    std::int64_t row = place - col * rows_ - back_rows_;
    col -= back_cols_;
    if (row < 0) row += rows_;
    if (col < 0) col += cols_;
    return row * cols_ + col;
  }

 private:
  std::int64_t rows_, cols_, back_rows_, back_cols_;
};

// Copies `bytes` and fetches as many from `ahead` meanwhile.
void move_part(std::byte* to, const std::byte* from, const std::byte* ahead, std::int64_t bytes) noexcept {
  constexpr std::int64_t step = 256;
  std::int64_t k = 0;
  for (; k + step <= bytes; k += step) {
    for (std::int64_t line = 0; line < step; line += 64) __builtin_prefetch(ahead + k + line, 1, 2);
    std::memcpy(to + k, from + k, step);
  }
  if (k == bytes) return;
  for (std::int64_t line = k; line < bytes; line += 64) __builtin_prefetch(ahead + line, 1, 2);
  std::memcpy(to + k, from + k, static_cast<std::size_t>(bytes - k));
}

void follow_cycles(const cycle_map& map, std::byte* data, std::int64_t item_bytes, std::int64_t part_bytes,
                   std::byte* done, std::byte* kept) noexcept {
  const std::int64_t places = map.places();
  std::memset(done, 0, static_cast<std::size_t>(ceil_div(places, 8)));
  const auto mark = [done](std::int64_t place) { done[place / 8] |= std::byte{1} << (place % 8); };
  for (std::int64_t first = 0; first < places; ++first) {
    if ((done[first / 8] >> (first % 8) & std::byte{1}) != std::byte{0}) continue;
    std::int64_t from = map.source(first);
    if (from == first) continue;
    std::memcpy(kept, data + first * item_bytes, static_cast<std::size_t>(part_bytes));
    std::int64_t to = first;
    // The places behind `from`, as far as items are fetched; past its end a cycle begins again.
    std::array<std::int64_t, fetched_ahead> coming;
    coming[0] = map.source(from);
    for (std::size_t k = 1; k < coming.size(); ++k) coming[k] = map.source(coming[k - 1]);
    for (std::size_t oldest = 0; from != first; oldest = (oldest + 1) % coming.size()) {
      const std::int64_t newest = coming[(oldest + coming.size() - 1) % coming.size()];
      move_part(data + to * item_bytes, data + from * item_bytes, data + newest * item_bytes, part_bytes);
      mark(from);
      to = from;
      from = coming[oldest];
      coming[oldest] = map.source(newest);
    }
    std::memcpy(data + to * item_bytes, kept, static_cast<std::size_t>(part_bytes));
  }
}

}  // namespace

void cpu_cycles(const job& work, std::byte* data, std::byte* workspace, std::int64_t begin, std::int64_t end) noexcept {
  const cycle_map map(work);
  std::byte* const done = workspace + begin * cpu::cycles_workspace(work);
  std::byte* const kept = done + cpu::cycle_bits(map.places());
  const std::int64_t last = std::min(end * work.panel, work.element_bytes);
  for (std::int64_t at = begin * work.panel; at < last; at += cpu::cycle_part_bytes) {
    const std::int64_t part = std::min(cpu::cycle_part_bytes, last - at);
    follow_cycles(map, data + at, work.element_bytes, part, done, kept);
  }
}

void cpu_pitch(const job& work, std::byte* data, std::byte* workspace, std::int64_t begin, std::int64_t end) noexcept {
  const axis& rows = work.rows.axes[0];
  const auto bytes = static_cast<std::size_t>(work.element_bytes);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const cpu::pitch_share share = cpu::share_of_pitch(work, unit);
    const std::byte* const saved = workspace + unit * work.panel - share.saved_from;  // as if it lay in `data`
    const auto move = [&](std::int64_t row) {
      std::byte* const to = data + row * rows.dst_stride;
      const std::int64_t from = row * rows.src_stride;
      if (share.saved_to <= from || share.saved_from >= from + work.element_bytes) {
        std::memmove(to, data + from, bytes);
      } else if (rows.src_stride < rows.dst_stride) {  // the saved bytes are the first ones of the share
        const auto head = static_cast<std::size_t>(std::min(share.saved_to - from, work.element_bytes));
        std::memmove(to + head, data + from + head, bytes - head);
        std::memcpy(to, saved + from, head);
      } else {  // the last ones
        const auto head = static_cast<std::size_t>(std::max<std::int64_t>(share.saved_from - from, 0));
        std::memmove(to, data + from, head);
        std::memcpy(to + head, saved + from + head, bytes - head);
      }
    };
    if (rows.src_stride < rows.dst_stride) {
      for (std::int64_t row = share.end; row-- > share.begin;) move(row);
    } else {
      for (std::int64_t row = share.begin; row < share.end; ++row) move(row);
    }
  }
}

}  // namespace cornerturn::kernels
