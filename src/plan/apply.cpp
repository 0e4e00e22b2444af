// The decision list of problems with math on the CPU. The first line whose condition holds wins.
//   1  nothing to compute                                              gather
//   2  the innermost axis is contiguous on all sides                   runs
//   3  no axis of dst has stride 1, or none of src                     gather
//   4  there is no second array, and elements become smaller           tile, along src
//   5  there is no second array, or it is contiguous along a dst run   tile
//   6  the second array is contiguous along a src run                  tile, along src
//   7  everything else                                                 gather
// Where cores walk strips (tuning.hpp), so do tiles of 4 and 5: see kernels/cpu/strips_math-inl.hpp.
#include "plan/apply.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/cpu/block.hpp"
#include "plan/tuning.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using kernels::chain;
using kernels::job;

constexpr const char* reasons[] = {
    "",
    "there is nothing to compute",
    "the innermost axis is contiguous on all sides, so runs are computed as they lie",
    "a side has no axis of stride 1, so elements are gathered, computed and scattered",
    "elements become smaller, so runs of src are computed first and fewer bytes are turned",
    "register blocks go through a small buffer, and pieces of dst runs are computed there",
    "runs of src are computed first, for the second array goes along with them, and then turned",
    "no run of src or dst is contiguous in the second array, so elements are gathered, computed and scattered",
};

const char* row_of_line(int line) noexcept {
  constexpr const char* rows[] = {"",
                                  "cpu_apply_gather",
                                  "cpu_apply_runs",
                                  "cpu_apply_gather",
                                  "cpu_apply_tile",
                                  "cpu_apply_tile",
                                  "cpu_apply_tile",
                                  "cpu_apply_gather"};
  return rows[line];
}

// Dst runs in flight: u8 to i32 5000 x 6992 with 4096 of them 0.50 of a move, with 1024 0.65 (AMD EPYC 4th generation,
// 2026-11-21).
constexpr std::int64_t widest_panel = 1024;

// The same where strips are summed: the windows of 384 columns take 0.4 MiB. float32 5000 x 6992, alpha and beta, 256 of
// them 0.74 of the copy, 384 0.79, 512 0.64 to 0.73, 768 0.66 (Intel Xeon, 2 MiB of L2, 2026-11-22).
constexpr std::int64_t widest_panel_of_sums = 384;

const axis* unit_axis(const map::canonical& form, std::int64_t axis::*stride) noexcept {
  const axis* const end = form.axes.data() + form.rank;
  const axis* const found = std::find_if(form.axes.data(), end, [&](const axis& one) { return one.*stride == 1; });
  return found == end ? nullptr : found;
}

int decide(const map::canonical& form, const kernels::op& math) noexcept {
  const bool second = math.second != second_array::none;
  if (form.empty) return 1;
  if (form.rank == 0) return 2;
  const axis* const row = unit_axis(form, &axis::dst_stride);
  const axis* const column = unit_axis(form, &axis::src_stride);
  if (row != nullptr && row->src_stride == 1 && (!second || row->second_stride == 1)) return 2;
  if (row == nullptr || column == nullptr || row == column || row->src_stride == 1) return second ? 7 : 3;
  // float32 to bfloat16: 8192 x 8192 0.64 ns an element after the turn, 0.50 before; in the cache 0.46 and 0.31; uint8
  // to int32 0.16 and 0.29 (AMD EPYC 4th generation, 2026-11-21).
  if (!second && form.dst_word_bytes < form.word_bytes) return 4;
  if (!second || row->second_stride == 1) return 5;
  return column->second_stride == 1 ? 6 : 7;
}

// Takes axes out of a form, one by one, into chains.
class loose_axes {
 public:
  explicit loose_axes(const map::canonical& form) noexcept : count_(form.rank) {
    std::copy_n(form.axes.begin(), form.rank, left_.begin());
  }

  void take(axis one, chain& into) noexcept {
    axis* const found = std::find(left_.data(), left_.data() + count_, one);
    std::copy(found + 1, left_.data() + count_, found);
    --count_;
    into.axes[static_cast<std::size_t>(into.rank++)] = one;
    into.total *= one.extent;
  }

  // Takes what continues the chain on one side, and in the second array where that goes along, until it is long enough.
  void lengthen(chain& run, std::int64_t axis::*stride, bool with_second, std::int64_t enough) noexcept {
    for (const axis* next = left_.data(); next != left_.data() + count_ && run.total < enough;) {
      const bool fits = next->*stride == run.total && (!with_second || next->second_stride == run.total);
      if (!fits) {
        ++next;
        continue;
      }
      take(*next, run);
      next = left_.data();
    }
  }

  void take_rest(chain& into) noexcept {
    while (count_ > 0) take(left_[0], into);
  }

 private:
  std::array<axis, map::max_axes> left_{};
  int count_;
};

// True where strips-inl.hpp walks it: whole blocks of results that are not met again, and a second array, if any, that
// lies as dst does.
bool walks_strips(const job& work, const cpu_tuning& tuned) noexcept {
  const std::int64_t bytes = work.form.dst_word_bytes;
  if (tuned.strip_bytes == 0 || work.prefetch_bytes == 0) return false;
  if (work.rows.total < static_cast<std::int64_t>(kernels::cpu::rows_of_strip(static_cast<std::size_t>(bytes))) ||
      work.cols.total * bytes < kernels::cpu::strip_block_bytes) {
    return false;
  }
  if (work.math.second == second_array::none) return true;
  const axis* const end = work.form.axes.data() + work.form.rank;
  return work.math.second == second_array::source && work.form.word_bytes == bytes &&
         std::all_of(work.form.axes.data(), end, [](const axis& one) { return one.second_stride == one.dst_stride; });
}

// Of the strips that cut_strips() made.
void cut_sums(job& work, std::int64_t bytes) noexcept {
  const std::int64_t block = kernels::cpu::strip_block_bytes / bytes;
  const std::int64_t panels = ceil_div(work.cols.total, widest_panel_of_sums);
  work.panel = std::min(work.cols.total, ceil_div(ceil_div(work.cols.total, panels), block) * block);
  work.parked = kernels::cpu::summed_piece_bytes / 64;
  work.group = std::min(kernels::cpu::summed_piece_bytes / bytes, work.rows.total);
}

void cut_tiles(job& work, const cpu_tuning& tuned, int threads) noexcept {
  const map::canonical& form = work.form;
  const std::int64_t bytes = form.dst_word_bytes;
  const bool second = work.math.second != second_array::none;
  const axis row = *unit_axis(form, &axis::dst_stride);
  const axis column = *unit_axis(form, &axis::src_stride);
  loose_axes left(form);
  left.take(row, work.rows);
  left.take(column, work.cols);
  left.lengthen(work.rows, &axis::dst_stride, second && !work.along_src, tuned.long_run_bytes / bytes);
  left.lengthen(work.cols, &axis::src_stride, second && work.along_src, tuned.panel_cols);
  left.lengthen(work.rows, &axis::dst_stride, second && !work.along_src, INT64_MAX);
  left.take_rest(work.outer);

  work.src_col_bytes = form.word_bytes;
  work.panel =
      std::min({work.cols.total, std::max<std::int64_t>(16, tuned.panel_bytes / form.word_bytes), widest_panel});
  const bool at_lines = work.cols.axes[0].dst_stride * bytes % 64 == 0;
  const std::int64_t piece = bytes <= 2 ? tuned.narrow_piece_bytes
                             : at_lines ? tuned.piece_bytes
                                        : tuned.carried_piece_bytes;
  const std::int64_t strip = kernels::cpu::strip_rows;
  work.group = std::min(ceil_div(piece / bytes, strip) * strip, work.rows.total);
  if (walks_strips(work, tuned)) cut_strips(work, bytes, tuned);
  if (work.row_lines == 2 && second) cut_sums(work, bytes);
  work.row_chunk = work.rows.total;
  const std::int64_t whole = work.outer.total * work.panels();
  if (threads > 1 && whole < std::int64_t{16} * threads && whole % threads != 0) {
    work.row_chunk = ceil_div(ceil_div(work.rows.total, threads), work.group) * work.group;
  }
  work.units = whole * work.row_chunks();
}

void cut_runs(job& work) noexcept {
  loose_axes left(work.form);
  const axis* const run = unit_axis(work.form, &axis::dst_stride);
  if (run != nullptr) left.take(*run, work.rows);
  left.take_rest(work.outer);
  work.row_chunk = std::min<std::int64_t>(work.rows.total, 16 << 10);
  work.units = work.outer.total * work.row_chunks();
}

// The innermost axis of dst, chunk by chunk, next to some of the one that is innermost in src, so that the lines of
// either serve more than one element.
void cut_gathers(job& work) noexcept {
  const map::canonical& form = work.form;
  loose_axes left(form);
  if (form.rank > 0) left.take(form.axes[static_cast<std::size_t>(form.rank - 1)], work.rows);
  if (form.rank > 1) {
    const axis* const end = form.axes.data() + form.rank - 1;
    left.take(*std::min_element(form.axes.data(), end,
                                [](const axis& a, const axis& b) {
                                  return base::magnitude(a.src_stride) < base::magnitude(b.src_stride);
                                }),
              work.cols);
  }
  left.take_rest(work.outer);
  work.panel = std::min<std::int64_t>(work.cols.total, 16);
  work.row_chunk = std::min<std::int64_t>(work.rows.total, 256);
  work.units = work.outer.total * work.panels() * work.row_chunks();
}

}  // namespace

choice choose_apply(const map::canonical& form, const kernels::op& math, const request& wanted,
                    const base::machine& machine) noexcept {
  const cpu_tuning& tuned = tuning_for(machine);
  choice made;
  job& work = made.work;
  work.form = form;
  work.form.src_offset = 0;  // a kernel's pointers are those of index 0
  work.form.dst_offset = 0;
  work.form.second_offset = 0;
  work.math = math;
  made.line = decide(form, math);
  made.reason = reasons[made.line];
  const std::string_view listed = row_of_line(made.line);
  const std::string_view name = wanted.kernel.empty() ? listed : wanted.kernel;
  if (name != listed && made.line != 1) {
    if (name != "cpu_apply_gather" && name != "cpu_apply_reference") return made;
    made.reason = "asked for by name";
  }
  made.kernel = kernels::find(name);
  if (made.kernel == nullptr || made.kernel->apply == nullptr) {
    made.kernel = nullptr;
    return made;
  }

  const std::int64_t bytes = map::words(form) * (form.word_bytes + form.dst_word_bytes) / 2;
  const int threads = static_cast<int>(std::clamp<std::int64_t>(bytes / (tuned.thread_bytes / 2), 1, wanted.threads));
  work.element_bytes = form.word_bytes;
  const bool large = bytes > std::max<std::int64_t>(cached_limit_bytes(machine) - wanted.beside_bytes, 0);
  work.streaming = large && !math.sums_into_dst;  // else its lines were read just before
  work.prefetch_bytes = large ? tuned.prefetch_bytes : 0;
  work.along_src = made.line == 4 || made.line == 6;
  if (form.empty) {
    work.units = 0;
  } else if (name == "cpu_apply_reference") {
    work.units = 1;
  } else if (name == "cpu_apply_runs") {
    cut_runs(work);
  } else if (name == "cpu_apply_tile") {
    cut_tiles(work, tuned, threads);
  } else {
    cut_gathers(work);
  }
  made.threads = static_cast<int>(std::min<std::int64_t>(threads, std::max<std::int64_t>(work.units, 1)));
  return made;
}

}  // namespace cornerturn::planning
