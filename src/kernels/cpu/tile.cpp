// The cached, stream and gather kernels, compiled once for each SIMD target that this build knows.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/tile.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include <algorithm>

#include <atomic>

#include "kernels/cpu/block-inl.hpp"
#include "kernels/cpu/box-inl.hpp"
#include "kernels/cpu/end_to_end-inl.hpp"
#include "kernels/cpu/few_columns-inl.hpp"
#include "kernels/cpu/few_rows-inl.hpp"
#include "kernels/cpu/line_tile-inl.hpp"
#include "kernels/cpu/narrow-inl.hpp"
#include "kernels/cpu/pages.hpp"
#include "kernels/cpu/panel-inl.hpp"
#include "kernels/cpu/parked-inl.hpp"
#include "kernels/cpu/strips-inl.hpp"
#include "kernels/cpu/tiny-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Reads some way ahead in the rows of a strip, one line of each, and where they end in the rows that come next.
struct read_ahead {
  const strip& rows;
  std::int64_t distance;
  std::int64_t end;  // of the panel's rows, in bytes

  // The line at `offset` of each row, in what comes next.
  HWY_INLINE void few_rows(std::int64_t offset) const {
    if (rows.next == nullptr) return;
    for (int k = 0; k < rows.count; ++k) __builtin_prefetch(rows.next[k] + rows.step + offset, 0, 2);
  }

  template <std::size_t Rows>
  HWY_INLINE void rows_from(int first, std::int64_t offset) const {
    if (distance == 0 || offset % 64 != 0) return;
    std::int64_t ahead = offset + distance;
    const std::byte* const* row = rows.row;
    if (ahead >= end) {
      if (rows.next == nullptr) return;
      row = rows.next;
      ahead -= end;
      if (ahead >= end) ahead = offset;  // what comes next is shorter than the distance
      ahead += rows.step;
    }
    for (std::size_t k = 0; k < Rows; ++k) __builtin_prefetch(row[static_cast<std::size_t>(first) + k] + ahead, 0, 2);
  }
};

template <std::size_t Word>
struct block_fill {
  using best = typename blocks<Word>::best;
  using small = typename blocks<Word>::small;
  static constexpr std::int64_t word = Word;
  static constexpr std::int64_t spare_cols = small::cols;

  const job& work;
  const std::byte* src_end;
  bool dense;  // rows follow one another in src: what lies behind a row's end is mostly the next row

  block_fill(const job& of, const std::byte* src) noexcept
      : work(of),
        src_end(src + of.src_hi_bytes),
        dense(of.rows.rank >= 1 && of.rows.axes[0].src_stride == of.cols.total && of.cols.rank == 1) {}

  template <class Block>
  HWY_INLINE static int whole(int count) {
    constexpr int step = static_cast<int>(Block::rows);
    return (count + step - 1) / step * step;
  }

  // Not inlined: the one place where the shuffles of this word size stand. A call moves hundreds of bytes or more.
  HWY_NOINLINE void columns(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch,
                            bool last_first, const read_ahead& ahead) const {
    if (cols >= static_cast<std::int64_t>(best::cols) && rows.count > static_cast<int>(small::rows)) {
      fill_strip<best, Word>(rows.row, whole<best>(rows.count), c * word, cols, to, pitch, last_first, ahead);
    } else if (cols >= static_cast<std::int64_t>(small::cols)) {
      fill_strip<small, Word>(rows.row, whole<small>(rows.count), c * word, cols, to, pitch, last_first, ahead);
    } else {
      few_columns(rows, c, cols, to, pitch, last_first);
    }
  }

  // Fewer columns than a block has: the block reads on into the next row where it may, else through a copy.
  HWY_NOINLINE void few_columns(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch,
                                bool last_first) const {
    const std::int64_t offset = c * word;
    // The last row need not be the highest: a later axis of the rows may run backwards in src.
    if (dense && *std::max_element(&rows.row[0], &rows.row[0] + rows.count) + offset + 16 <= src_end) {
      return fill_strip<small, Word>(rows.row, whole<small>(rows.count), offset, small::cols, to, pitch, last_first,
                                     no_prefetch{});
    }
    alignas(16) std::byte copy[strip_rows][16];
    std::array<const std::byte*, strip_rows> row;
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = copy[k];
      std::memcpy(copy[k], rows.row[k] + offset, static_cast<std::size_t>(cols * word));
    }
    fill_strip<small, Word>(row.data(), whole<small>(rows.count), 0, small::cols, to, pitch, last_first, no_prefetch{});
  }

  HWY_INLINE void part(const strip& rows, std::int64_t c, std::int64_t cols, std::int64_t panel_cols, std::byte* to,
                       std::int64_t pitch) const {
    columns(rows, c, cols, to, pitch, false, read_ahead{rows, work.prefetch_bytes, panel_cols * word});
  }

  HWY_INLINE void block(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    columns(rows, c, cols, to, pitch, false, read_ahead{rows, 0, 0});
  }

  HWY_INLINE void packed(const strip& rows, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    std::int64_t done = 0;
    if constexpr (Word <= 8) {
      if (pitch == rows.count * word) {
        // Short rows: what comes next lies elsewhere. Long ones go on where they are, which the hardware sees by
        // itself.
        const std::int64_t short_rows = cols * word <= 4 * line_bytes ? cols * word : 0;
        for (std::int64_t k = 0; k < short_rows; k += line_bytes) read_ahead{rows, 0, 0}.few_rows(k);
        done = join(rows, cols, to);
      }
      if (done == cols) return;
    }
    columns(rows, done, cols - done, to + done * pitch, pitch, true,
            read_ahead{rows, work.prefetch_bytes, cols * word});
  }

  // True when join moves every column of a packed problem.
  [[nodiscard]] HWY_INLINE bool joins_all() const {
    constexpr std::int64_t widest = 32 / word;
    const std::int64_t n = work.rows.total;
    return Word <= 8 && (n == 2 || n == 3 || n == 4 || n == 8) && work.panel % widest == 0 &&
           work.cols.total % widest == 0;
  }

  HWY_NOINLINE static std::int64_t join(const strip& rows, std::int64_t cols, std::byte* to) {
    switch (rows.count) {
      case 2:
        return join_rows<Word, 2>(rows.row, cols, to);
      case 3:
        return join_rows<Word, 3>(rows.row, cols, to);
      case 4:
        return join_rows<Word, 4>(rows.row, cols, to);
      case 8:
        return join_rows<Word, 8>(rows.row, cols, to);
      default:
        return 0;
    }
  }

  HWY_INLINE bool splits(std::int64_t cols) const { return cols == work.cols.total && splits_columns(work); }

  HWY_NOINLINE void split(const std::byte* from, std::int64_t rows, std::int64_t cols, std::byte* to,
                          std::int64_t pitch) const {
    if constexpr (Word <= 8) {
      std::int64_t done = 0;
      if (cols == 2) done = split_columns<Word, 2>(from, rows, to, pitch);
      if (cols == 3) done = split_columns<Word, 3>(from, rows, to, pitch);
      if (cols == 4) done = split_columns<Word, 4>(from, rows, to, pitch);
      if (cols == 8) done = split_columns<Word, 8>(from, rows, to, pitch);
      if (cols == 16) done = split_columns<Word, 16>(from, rows, to, pitch);
      std::array<const std::byte*, strip_rows> row;
      for (std::int64_t r = done; r < rows; r += strip_rows) {
        const std::int64_t count = HWY_MIN(std::int64_t{strip_rows}, rows - r);
        for (std::int64_t k = 0; k < strip_rows; ++k) {
          row[static_cast<std::size_t>(k)] = from + (r + HWY_MIN(k, count - 1)) * cols * word;
        }
        const strip rest{row.data(), nullptr, 0, static_cast<int>(count)};
        columns(rest, 0, cols, to + r * word, pitch, false, read_ahead{rest, 0, 0});
      }
    }
  }
};

template <std::size_t Word>
void stream_blocks(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
  if (is_tiny_batch(work)) return move_tiny_batch<Word>(work, src, dst, begin, end);
  if constexpr (Word <= 8) {
    if (work.few_columns) return move_few_columns<Word>(work, src, dst, begin, end);
    if (work.few_rows) return move_few_rows<Word>(work, src, dst, begin, end);
  }
  const block_fill<Word> fill(work, src);
  const std::byte* const readable_end = fill.dense ? fill.src_end : nullptr;
  if (fills_lines<Word>(work)) return move_end_to_end<Word>(work, src, dst, begin, end, readable_end);
  if (work.row_lines == 2) return move_strips<Word>(work, src, dst, begin, end, fill);
  if (work.packed || work.parked == 0 || splits_columns(work)) return move_panels(work, src, dst, begin, end, fill);
  move_parked<Word>(work, src, dst, begin, end, readable_end);
}

// Two blocks of rows side by side, which make a whole line of dst at once.
template <std::size_t Word>
HWY_NOINLINE void cached_lines(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                               std::int64_t end) {
  using best = typename blocks<Word>::best;
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr auto least = static_cast<std::int64_t>(best::rows);
  constexpr auto step = static_cast<std::int64_t>(best::cols);
  const std::int64_t src_pitch = work.rows.axes[0].src_stride * word;
  const std::int64_t dst_pitch = work.cols.axes[0].dst_stride * word;
  const std::int64_t last = work.cols.total - step;
  odometer outer(work.outer, work.form.word_bytes, begin, false);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    const std::byte* const from = src + outer.src();
    std::byte* const to = dst + outer.dst();
    std::int64_t r = 0;
    for (; r + 2 * least <= work.rows.total; r += 2 * least) {
      const even_rows upper{from + r * src_pitch, src_pitch};
      const even_rows lower{from + (r + least) * src_pitch, src_pitch};
      for (std::int64_t c = 0;; c = HWY_MIN(c + step, last)) {
        std::byte* const run = to + c * dst_pitch + r * word;
        best::move(upper, c * word, run, dst_pitch);
        best::move(lower, c * word, run + least * word, dst_pitch);
        if (c == last) break;
      }
    }
    rows_of_blocks<Word>(from, src_pitch, work.rows.total, r, work.cols.total, to, dst_pitch);
  }
}

// One row of blocks: what an 8 x 8 matrix takes is mostly what comes before its blocks.
template <std::size_t Word>
HWY_NOINLINE void cached_strip(const job& work, const std::byte* src, std::byte* dst) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  const even_rows rows{src, work.rows.axes[0].src_stride * word};
  fill_rows<typename blocks<Word>::best, Word>(rows, work.cols.total, dst, work.cols.axes[0].dst_stride * word);
}

// Straight to dst: rows and cols are one axis each, at least a block long.
template <std::size_t Word>
void cached_blocks(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (Word <= 8) {
    if (work.line_tiles) return cached_by_tiles<Word>(work, src, dst, begin, end);
  }
#endif
  if constexpr (blocks<Word>::best::rows <= 8) {
    if (work.rows.total == static_cast<std::int64_t>(blocks<Word>::best::rows) && work.outer.rank == 0 && begin < end) {
      return cached_strip<Word>(work, src, dst);
    }
  }
  // Runs that are so far apart share a few sets of the L1, so that a line does not stay until its other half comes:
  // float32 256 x 256 13 us by blocks, 7 us by lines; 64 x 64 0.26 us and 0.36 (AMD EPYC 4th generation, 2026-11-21).
  if constexpr (blocks<Word>::best::rows * 2 * Word == line_bytes) {
    if (work.cols.axes[0].dst_stride * static_cast<std::int64_t>(Word) % 512 == 0) {
      return cached_lines<Word>(work, src, dst, begin, end);
    }
  }
  odometer outer(work.outer, work.form.word_bytes, begin, false);
  constexpr auto word = static_cast<std::int64_t>(Word);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    rows_of_blocks<Word>(src + outer.src(), work.rows.axes[0].src_stride * word, work.rows.total, 0, work.cols.total,
                         dst + outer.dst(), work.cols.axes[0].dst_stride * word);
  }
}

// Elements of any size and any src stride, copied one by one into the buffer.
template <class Copy>
HWY_INLINE void each_element(const job& work, const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                             std::int64_t pitch, const Copy& copy) {
  std::int64_t offset = c * work.src_col_bytes;
  for (std::int64_t k = 0; k < cols; ++k, offset += work.src_col_bytes, to += pitch) {
    std::byte* at = to;
    for (int r = 0; r < rows.count; ++r, at += work.element_bytes) copy(at, rows.row[r] + offset);
  }
}

template <std::size_t Bytes>
struct copy_one {
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, Bytes); }
};

// Any size from Chunk to 2 * Chunk: two copies that may overlap.
template <std::size_t Chunk>
struct copy_two {
  std::int64_t rest;  // size - Chunk
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    std::byte tail[Chunk];
    std::memcpy(tail, from + rest, Chunk);
    std::memcpy(to, from, Chunk);
    std::memcpy(to + rest, tail, Chunk);
  }
};

struct element_fill {
  static constexpr std::int64_t spare_cols = 0;
  const job& work;

  HWY_NOINLINE void part(const strip& rows, std::int64_t c, std::int64_t cols, std::int64_t /*panel_cols*/,
                         std::byte* to, std::int64_t pitch) const {
    const std::int64_t size = work.element_bytes;
    const auto with = [&](const auto& copy) { each_element(work, rows, c, cols, to, pitch, copy); };
    if (size == 1) return with(copy_one<1>{});
    if (size == 2) return with(copy_one<2>{});
    if (size == 3) return with(copy_one<3>{});
    if (size == 4) return with(copy_one<4>{});
    if (size == 8) return with(copy_one<8>{});
    if (size < 8) return with(copy_two<4>{size - 4});
    if (size <= 16) return with(copy_two<8>{size - 8});
    if (size <= 32) return with(copy_two<16>{size - 16});
    with([size](std::byte* at, const std::byte* from) { std::memcpy(at, from, static_cast<std::size_t>(size)); });
  }
  HWY_INLINE void packed(const strip& rows, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    part(rows, 0, cols, cols, to, pitch);
  }
  [[nodiscard]] HWY_INLINE bool joins_all() const { return true; }
  HWY_INLINE bool splits(std::int64_t /*cols*/) const { return false; }
  HWY_INLINE void split(const std::byte* /*from*/, std::int64_t /*rows*/, std::int64_t /*cols*/, std::byte* /*to*/,
                        std::int64_t /*pitch*/) const {}
};

void gather(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
  move_panels(work, src, dst, begin, end, element_fill{work});
}

void copy(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t unit = 4096;  // choose.cpp counts a contiguous run in these
  const std::int64_t from = begin * unit;
  const std::int64_t bytes = HWY_MIN(end * unit, work.element_bytes) - from;
  if (!work.streaming) return void(std::memcpy(dst + from, src + from, static_cast<std::size_t>(bytes)));
  run_writer writer;
  page_scout pages = work.by_pages ? page_scout(src + from) : page_scout();
  for (std::int64_t done = 0; done < bytes; done += 4 * line_bytes) {
    const std::int64_t some = HWY_MIN(4 * line_bytes, bytes - done);
    pages.fetch(some);
    writer.write(src + from + done, dst + from + done, some);
  }
  writer.finish();
  finish_streaming();
}

// Runs in the order of dst. The lines of the runs that come `ahead` later are fetched meanwhile: the hardware does not
// guess where the next run begins.
void runs(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
  odometer outer(work.outer, work.form.word_bytes, begin, false);
  if (!work.streaming) {
    for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
      std::memcpy(dst + outer.dst(), src + outer.src(), static_cast<std::size_t>(work.element_bytes));
    }
    return;
  }
  const std::int64_t ahead = work.prefetch_bytes / work.element_bytes + 1;
  const std::int64_t lines = HWY_MIN(work.element_bytes, work.prefetch_bytes);
  odometer coming = scout_of(work, begin, ahead, work.element_bytes);
  run_writer writer;
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    for (std::int64_t k = 0; k < lines; k += line_bytes) __builtin_prefetch(src + coming.src() + k, 0, 2);
    coming.next();
    writer.write(src + outer.src(), dst + outer.dst(), work.element_bytes);
  }
  writer.finish();
  finish_streaming();
}

#define CORNERTURN_WORD(n)                                                                           \
  void stream_b##n(const job& w, const std::byte* s, std::byte* d, std::int64_t b, std::int64_t e) { \
    stream_blocks<n>(w, s, d, b, e);                                                                 \
  }                                                                                                  \
  void cached_b##n(const job& w, const std::byte* s, std::byte* d, std::int64_t b, std::int64_t e) { \
    cached_blocks<n>(w, s, d, b, e);                                                                 \
  }                                                                                                  \
  void box_b##n(const job& w, const std::byte* s, std::byte* d, std::int64_t b, std::int64_t e) {    \
    move_boxes<n>(w, s, d, b, e);                                                                    \
  }
CORNERTURN_WORD(1)
CORNERTURN_WORD(2)
CORNERTURN_WORD(4)
CORNERTURN_WORD(8)
CORNERTURN_WORD(16)
#undef CORNERTURN_WORD

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::kernels {
namespace cpu {

#define CORNERTURN_ROWS(row)                                                                                      \
  row(cpu_copy, copy) row(cpu_runs, runs) row(cpu_gather, gather) row(cpu_cached_b1, cached_b1)                   \
      row(cpu_cached_b2, cached_b2) row(cpu_cached_b4, cached_b4) row(cpu_cached_b8, cached_b8)                   \
          row(cpu_cached_b16, cached_b16) row(cpu_stream_b1, stream_b1) row(cpu_stream_b2, stream_b2)             \
              row(cpu_stream_b4, stream_b4) row(cpu_stream_b8, stream_b8) row(cpu_stream_b16, stream_b16)         \
                  row(cpu_box_b1, box_b1) row(cpu_box_b2, box_b2) row(cpu_box_b4, box_b4) row(cpu_box_b8, box_b8) \
                      row(cpu_box_b16, box_b16)

using target_function = void (*)(const job&, const std::byte*, std::byte*, std::int64_t, std::int64_t);

// Which target a row runs is asked once, at its first call: asking Highway takes a fifth of the time of an 8 x 8
// matrix.
#define CORNERTURN_CHOOSE(name, function)                                                                    \
  HWY_EXPORT(function);                                                                                      \
  static void name##_first(const job& w, const std::byte* s, std::byte* d, std::int64_t b, std::int64_t e);  \
  static std::atomic<target_function> name##_chosen{&name##_first};                                          \
  static void name##_first(const job& w, const std::byte* s, std::byte* d, std::int64_t b, std::int64_t e) { \
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());                                                  \
    const target_function best = &HWY_DYNAMIC_DISPATCH(function);                                            \
    name##_chosen.store(best, std::memory_order_relaxed);                                                    \
    best(w, s, d, b, e);                                                                                     \
  }
CORNERTURN_ROWS(CORNERTURN_CHOOSE)
#undef CORNERTURN_CHOOSE

}  // namespace cpu

#define CORNERTURN_DEFINE(name, function)                                                              \
  void name(const job& w, const std::byte* s, std::byte* d, std::int64_t b, std::int64_t e) noexcept { \
    cpu::name##_chosen.load(std::memory_order_relaxed)(w, s, d, b, e);                                 \
  }
CORNERTURN_ROWS(CORNERTURN_DEFINE)
#undef CORNERTURN_DEFINE

std::vector<std::string_view> simd_targets() {
  std::vector<std::string_view> names;
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  for (std::int64_t left = usable; left != 0; left &= left - 1) names.emplace_back(hwy::TargetName(left & -left));
  return names;
}

bool force_simd_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  std::int64_t wanted = 0;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    if (name == hwy::TargetName(left & -left)) wanted = left & -left;
  }
  if (name.empty() || wanted != 0) hwy::SetSupportedTargetsForTest(wanted);
#define CORNERTURN_FORGET(row, function) cpu::row##_chosen.store(&cpu::row##_first, std::memory_order_relaxed);
  CORNERTURN_ROWS(CORNERTURN_FORGET)
#undef CORNERTURN_FORGET
  return name.empty() || wanted != 0;
}

}  // namespace cornerturn::kernels
#endif  // HWY_ONCE
