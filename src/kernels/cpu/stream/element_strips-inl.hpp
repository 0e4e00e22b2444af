// A walk of large matrices of elements of 3 to 32 bytes in registers of 64 bytes (AVX-512).
// element_window-inl.hpp says what a piece, a window and a strip are.
//
//   1. a unit is a panel of columns times a chunk of rows. It is walked strip by strip, block by block
//   2. a line is prefetched with each load of a row. Rows that share pages are prefetched in the order of src
//   3. rows of small items that are permuted within themselves are shuffled into L1 first, strip by strip
#if defined(CORNERTURN_ELEMENT_STRIPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ELEMENT_STRIPS_INL
#undef CORNERTURN_ELEMENT_STRIPS_INL
#else
#define CORNERTURN_ELEMENT_STRIPS_INL
#endif

#include <array>
#include <optional>

#include "kernels/cpu/policy/line_shuffle-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/stream/args.hpp"
#include "kernels/cpu/stream/element_window-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

// Rows up to this length are walked without lists and queues, if they are evenly spaced: they have few blocks for each strip.
inline constexpr std::int64_t even_row_bytes = 2048;
inline constexpr std::int64_t even_rows_ahead = 2048;  // bytes of rows between a load and its prefetch, or one strip

// A bit for each of `bytes` bytes, at most 64.
HWY_INLINE __mmask64 bytes_of_line(std::int64_t bytes) {
  return ~std::uint64_t{0} >> (line_bytes - HWY_MIN(bytes, line_bytes));
}

// Without memory for a buffer: one byte at a time.
inline void move_items_without_buffer(const blocking& work, const small_item& item, const std::byte* src,
                                      std::byte* dst, std::int64_t begin, std::int64_t end) {
  byte_map of;
  fill_map(item, of);
  move_without_buffer(work, src, dst, begin, end, [&](const std::byte* row, std::int64_t column, std::byte* to) {
    for (std::int64_t at = column; at < column + work.element_bytes; ++at) {
      const std::int64_t inside = at % item.item_bytes;
      *to++ = row[at - inside + of[static_cast<std::size_t>(inside)]];
    }
  });
}

// Returns false if there is no memory for a buffer. Then nothing has been moved.
template <std::size_t Bytes, element_stores Stores>
bool move_element_strips(const blocking& work, const small_item* item, const std::byte* src, std::byte* dst,
                         std::int64_t begin, std::int64_t end, const row_fold& fold) {
  using block = element_window<Bytes>;
  using rows_of = strip_of_rows<block::rows>;
  constexpr auto element = static_cast<std::int64_t>(Bytes);
  constexpr auto side = static_cast<std::int64_t>(block::side);
  constexpr auto strip_rows = static_cast<std::int64_t>(block::rows);
  constexpr auto strips = static_cast<std::int64_t>(block::strips);
  constexpr auto park_bytes = static_cast<std::int64_t>(block::park_bytes);
  constexpr auto window_bytes = static_cast<std::int64_t>(block::lines * 64);
  constexpr std::int64_t parks_bytes = (strips - 1) * park_bytes;  // of a block
  constexpr std::int64_t step = side * element;                    // bytes of a row that a block takes

  const std::int64_t blocks = base::ceil_div(work.panel, side);
  // Rows of an odd number of lines use all sets of the L1.
  const std::int64_t shuffled_pitch = (base::ceil_div(work.panel * element, std::int64_t{64}) | 1) * 64;
  const std::int64_t shuffled_bytes = item == nullptr ? 0 : strip_rows * shuffled_pitch;
  const std::int64_t place_bytes = blocks * side * static_cast<std::int64_t>(sizeof(std::byte*));
  std::byte* const parks = scratch(blocks * (parks_bytes + side * 64) + shuffled_bytes + place_bytes);
  if (parks == nullptr) return false;
  std::optional<line_shuffle> items;
  if (item != nullptr) items.emplace(*item, src + work.src_end_bytes);
  std::byte* const kept = parks + blocks * parks_bytes;
  std::byte* const shuffled = kept + blocks * side * 64;
  const std::byte* shuffled_row[block::rows];
  auto** const place = reinterpret_cast<std::byte**>(shuffled + shuffled_bytes);
  alignas(64) std::byte parked[block::park_bytes];

  for (strip_queue<block::rows> queue(work, src, begin, end); queue.front().count != 0; queue.pop()) {
    const rows_of& now = queue.front();
    if (now.number == 0) {
      run_places(work, now.unit.col, now.unit.cols, dst + now.outer_dst + now.unit.row * element, place);
    }
    const std::int64_t slot = now.number % strips;
    const std::int64_t window = now.number / strips;
    const bool closes = slot == strips - 1 && now.count == strip_rows;
    listed_rows from = {now.row, 0, now.row, 0, 0};
    if (item != nullptr) {  // 3.
      for (std::int64_t k = 0; k < strip_rows; ++k) {
        shuffled_row[k] = shuffled + HWY_MIN(k, now.count - 1) * shuffled_pitch;
        if (k < now.count) items->move<false>(now.row[k], shuffled + k * shuffled_pitch, now.row_bytes);
      }
      from.row = shuffled_row;
    }
    std::int64_t known = 0;  // blocks whose prefetches are at from.later
    for (std::int64_t c = 0; c < now.unit.cols; c += side) {
      const std::int64_t number = c / side;
      if (known-- == 0) {
        const auto target = queue.find(number + work.prefetch_bytes / step, step);
        from.later = target.row;
        from.ahead = target.offset;
        known = target.blocks - 1;
      } else {
        from.ahead += step;
      }
      from.offset = c * element;
      from.mine = bytes_of_line(now.row_bytes - from.offset);
      std::byte* const wait = parks + number * parks_bytes;
      const element_columns cols{HWY_MIN(side, now.unit.cols - c),
                                 place + c,
                                 window * window_bytes,
                                 kept + c * 64,
                                 wait,
                                 window == 0,
                                 now.last};
      if (closes) {
        close_elements<Bytes, Stores>(from, fold, cols);
      } else if (!now.last) {
        park_elements<Bytes>(from, fold, wait + slot * park_bytes);
      } else {
        park_elements<Bytes>(from, fold, parked);
        end_elements<Bytes, Stores>(cols, slot, parked, (slot * strip_rows + now.count) * element);
      }
    }
  }
  if (Stores != element_stores::cached) finish_streaming();
  return true;
}

// Moves evenly spaced rows of one panel: without lists of rows, and without a queue of strips.
template <std::size_t Bytes, element_stores Stores>
bool move_even_rows(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end,
                    const row_fold& fold) {
  using block = element_window<Bytes>;
  constexpr auto element = static_cast<std::int64_t>(Bytes);
  constexpr auto side = static_cast<std::int64_t>(block::side);
  constexpr auto strip_rows = static_cast<std::int64_t>(block::rows);
  constexpr auto strips = static_cast<std::int64_t>(block::strips);
  constexpr auto park_bytes = static_cast<std::int64_t>(block::park_bytes);
  const std::int64_t cols = work.cols.total;
  const std::int64_t row_bytes = cols * work.src_col_bytes;
  const std::int64_t pitch = work.rows.axes[0].src_stride * work.word_bytes;
  const std::int64_t chunks = work.row_chunks();
  const std::int64_t blocks = base::ceil_div(cols, side);
  const std::int64_t parks_bytes = strips * park_bytes;  // of a block
  std::byte* const parks = scratch(blocks * (parks_bytes + side * (64 + 2 * std::int64_t{sizeof(std::byte*)})));
  if (parks == nullptr) return false;
  std::byte* const kept = parks + blocks * parks_bytes;
  auto** const place = reinterpret_cast<std::byte**>(kept + blocks * side * 64);
  auto* const offset = reinterpret_cast<std::int64_t*>(place + blocks * side);
  odometer col(work.cols, work.word_bytes, 0, true);
  for (std::int64_t c = 0; c < cols; ++c, col.next()) offset[c] = col.dst();

  const std::int64_t strips_ahead = base::ceil_div(even_rows_ahead, strip_rows * row_bytes);
  const std::int64_t ahead = strips_ahead * strip_rows * pitch;
  // Rows with little between them are prefetched in the order of src: hardware prefetchers do not follow rows that share pages.
  // 25 matrices with rows of 200 to 1600 bytes 0.53, in each row; 0.70 in order (Zen 4, 2026-11-25).
  const bool in_order = pitch > 0 && pitch < 2 * row_bytes;
  even_element_rows from = {nullptr, pitch, nullptr, in_order ? pitch / blocks : pitch, 0};
  odometer outer(work.outer, work.word_bytes, begin / chunks, false);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t row = unit % chunks * work.row_chunk;
    std::int64_t left = HWY_MIN(work.row_chunk, work.rows.total - row);
    const std::byte* strip = src + outer.src() + row * pitch;
    std::byte* const to = dst + outer.dst() + row * element;
    for (std::int64_t c = 0; c < cols; ++c) place[c] = to + offset[c];
    std::int64_t window = 0;
    std::int64_t slot = 0;
    for (; left > 0; left -= strip_rows, strip += strip_rows * pitch) {
      for (std::int64_t number = 0; number < blocks; ++number) {
        const std::int64_t c = number * side;
        std::byte* const waiting = parks + number * parks_bytes;
        const element_columns runs{HWY_MIN(side, cols - c), place + c, window, kept + c * 64, waiting, window == 0,
                                   left == strip_rows};
        from.first = strip + c * element;
        from.later = strip + ahead + (in_order ? number * strip_rows * from.later_pitch : c * element);
        from.mine = bytes_of_line(row_bytes - c * element);
        if (left < strip_rows) {
          const std::byte* rows[block::rows];
          for (std::int64_t k = 0; k < strip_rows; ++k) rows[k] = from.first + HWY_MIN(k, left - 1) * pitch;
          park_elements<Bytes>(listed_rows{rows, 0, rows, 0, from.mine}, fold, waiting + slot * park_bytes);
        } else if (slot == strips - 1) {
          close_elements<Bytes, Stores>(from, fold, runs);
          continue;
        } else {
          park_elements<Bytes>(from, fold, waiting + slot * park_bytes);
        }
        if (left <= strip_rows) {
          end_elements<Bytes, Stores>(runs, slot, waiting + slot * park_bytes, (slot * strip_rows + left) * element);
        }
      }
      if (++slot == strips) {
        slot = 0;
        window += static_cast<std::int64_t>(block::lines * 64);
      }
    }
    if ((unit + 1) % chunks == 0) outer.next();
  }
  if (Stores != element_stores::cached) finish_streaming();
  return true;
}

template <std::size_t Bytes>
bool move_element_strips(const blocking& work, const small_item* item, const std::byte* src, std::byte* dst,
                         std::int64_t begin, std::int64_t end, const row_fold& fold) {
  const bool even = item == nullptr && work.rows.rank == 1 && work.panels() == 1 &&
                    work.cols.total * work.src_col_bytes <= even_row_bytes;
  const auto with = [&]<element_stores Stores>() {
    if (even) return move_even_rows<Bytes, Stores>(work, src, dst, begin, end, fold);
    return move_element_strips<Bytes, Stores>(work, item, src, dst, begin, end, fold);
  };
  if (!work.streaming) return with.template operator()<element_stores::cached>();
  if (runs_begin_at(work, dst, line_bytes)) return with.template operator()<element_stores::at_lines>();
  if constexpr (Bytes % 2 == 0) {
    if (runs_begin_at(work, dst, element_block<Bytes>::word)) {
      return with.template operator()<element_stores::by_words>();
    }
  }
  return with.template operator()<element_stores::by_bytes>();
}

inline void move_element_strips(const stream::elements_args& given, const std::byte* src, std::byte* dst,
                                std::int64_t begin, std::int64_t end) {
  blocking work = given;
  const row_fold fold(given.folded, given.cols.total, given.element_bytes);
  if (fold.rows > 1) {
    axis& down = work.rows.axes[0];
    down = {down.extent / fold.rows, down.src_stride * fold.rows, down.dst_stride * fold.rows};
    work.rows.total = down.extent;
    work.row_chunk = base::ceil_div(given.row_chunk, fold.rows);
    work.element_bytes *= fold.rows;
    work.src_col_bytes = work.element_bytes;
  }
  const small_item* const item = given.shuffled ? &given.item : nullptr;
  bool moved = false;
  const auto move_if = [&]<std::size_t Bytes>() {
    if (work.element_bytes == static_cast<std::int64_t>(Bytes))
      moved = move_element_strips<Bytes>(work, item, src, dst, begin, end, fold);
  };
  [&]<std::size_t... Bytes>(std::index_sequence<Bytes...>) { (move_if.template operator()<Bytes>(), ...); }
  (block_elements());
  if (!moved) {
    if (item != nullptr) return move_items_without_buffer(given, *item, src, dst, begin, end);
    return move_without_buffer(given, src, dst, begin, end);
  }
  // The rows that are left over, fewer than fold.rows: one element at a time.
  const std::int64_t done = work.rows.total * fold.rows;
  if (done == given.rows.total) return;
  const std::int64_t chunks = work.row_chunks();
  const auto e = static_cast<std::size_t>(given.element_bytes);
  const std::int64_t left = given.rows.total - done;
  odometer outer(work.outer, work.word_bytes, begin / chunks, false);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    if (unit % chunks != chunks - 1) continue;
    const std::byte* const from = src + outer.src() + work.rows.total * work.rows.axes[0].src_stride * work.word_bytes;
    std::byte* const to = dst + outer.dst() + done * given.element_bytes;
    odometer col(work.cols, work.word_bytes, 0, true);
    for (std::int64_t c = 0; c < work.cols.total; ++c, col.next()) {
      for (std::int64_t r = 0; r < left; ++r) {
        std::memcpy(to + col.dst() + r * given.element_bytes, from + (r * work.cols.total + c) * given.element_bytes,
                    e);
      }
    }
    outer.next();
  }
}
#else
inline void move_element_strips(const stream::elements_args& work, const std::byte* src, std::byte* dst,
                                std::int64_t begin, std::int64_t end) {
  move_without_buffer(work, src, dst, begin, end);
}
#endif

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
