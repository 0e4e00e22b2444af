// 2, 3, 4, 8 or 16 columns whose rows are contiguous in src: whole vectors of rows are split into columns
// (policy/interleave-inl.hpp), through the buffer of panels-inl.hpp.
#if defined(CORNERTURN_SPLIT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SPLIT_INL
#undef CORNERTURN_SPLIT_INL
#else
#define CORNERTURN_SPLIT_INL
#endif

#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/interleave-inl.hpp"
#include "kernels/cpu/policy/panels-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t short_run_bytes = 4096;  // src runs up to this length are prefetched, this far ahead

template <std::size_t Word>
HWY_NOINLINE void split_rows(const block_fill<Word>& fill, const row_runs::run& run, std::int64_t cols, std::byte* to,
                             std::int64_t pitch) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  std::int64_t done = 0;
  if (cols == 2) done = split_columns<Word, 2>(run.from, run.rows, to, pitch);
  if (cols == 3) done = split_columns<Word, 3>(run.from, run.rows, to, pitch);
  if (cols == 4) done = split_columns<Word, 4>(run.from, run.rows, to, pitch);
  if (cols == 8) done = split_columns<Word, 8>(run.from, run.rows, to, pitch);
  if (cols == 16) done = split_columns<Word, 16>(run.from, run.rows, to, pitch);
  std::array<const std::byte*, strip_rows> row;
  for (std::int64_t r = done; r < run.rows; r += strip_rows) {
    const std::int64_t count = HWY_MIN(std::int64_t{strip_rows}, run.rows - r);
    for (std::int64_t k = 0; k < strip_rows; ++k) {
      row[static_cast<std::size_t>(k)] = run.from + (r + HWY_MIN(k, count - 1)) * cols * word;
    }
    fill.block({row.data(), nullptr, 0, static_cast<int>(count)}, 0, cols, to + r * word, pitch);
  }
}

template <std::size_t Word>
void move_split(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  const block_fill<Word> fill(work, src);
  const std::int64_t cols = work.cols.total;
  const panel_buffer buffer(work, block_fill<Word>::spare_cols, 0);
  if (buffer.data() == nullptr) return move_without_buffer(work, src, dst, begin, end);
  // The hardware cannot predict the address of the next short run.
  const std::int64_t run_bytes = base::magnitude(work.rows.axes[0].extent * work.rows.axes[0].src_stride) * word;
  const bool short_runs =
      work.streaming && !work.prefetches_pages && work.rows.rank > 1 && run_bytes <= short_run_bytes;
  const std::int64_t chunks = work.row_chunks();
  odometer outer(work.outer, work.word_bytes, begin / chunks, false);
  page_prefetcher pages;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const unit_place here = place_of(work, unit % chunks);
    run_places(work, 0, cols, dst + outer.dst() + here.row * word, buffer.place());
    row_runs runs(work, src + outer.src(), here.row);
    row_runs prefetcher = runs;
    for (std::int64_t k = short_runs ? short_run_bytes / run_bytes : 0; k > 0; --k) prefetcher.take(here.rows);
    for (std::int64_t row = 0; row < here.rows; row += work.group) {
      const std::int64_t group = HWY_MIN(work.group, here.rows - row);
      for (std::int64_t r = 0; r < group;) {
        const auto run = runs.take(group - r);
        if (work.prefetches_pages && unit == begin && row + r == 0) pages = page_prefetcher(run.from);
        pages.fetch(run.rows * cols * word);
        if (short_runs) {
          const auto ahead = prefetcher.take(run.rows);
          for (std::int64_t k = 0; k < ahead.rows * cols * word; k += line_bytes) {
            __builtin_prefetch(ahead.from + k, 0, 2);
          }
        }
        split_rows(fill, run, cols, buffer.data() + r * word, buffer.pitch());
        r += run.rows;
      }
      buffer.write(0, cols, group * word, row == 0, row + group == here.rows);
    }
    if ((unit + 1) % chunks == 0) outer.next();
  }
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
