// The decision list of the CPU engine. The first line whose condition holds wins.
//   1  nothing to move                                             copy
//   2  one contiguous run                                          copy
//   3  no axis of dst has stride 1                                 scatter
//   4  a long inner run, contiguous on both sides                  runs
//   5  a short inner run: it moves as one wide element             gather
//   6  no axis of src has stride 1                                 gather
//   7  dst fits the cache and holds whole register blocks,         cached
//      and is no batch of tiny matrices
//   8  short axes that alternate on the two sides                  box
//   9  everything else                                             stream
#include "plan/choose.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/checked.hpp"
#include "kernels/cpu/block.hpp"
#include "kernels/cpu/box.hpp"
#include "plan/tuning.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using base::magnitude;
using kernels::chain;
using kernels::job;

constexpr const char* reasons[] = {
    "",
    "there is nothing to move",
    "src and dst are one contiguous run",
    "no axis of dst has stride 1, so no line of dst can be written whole",
    "the innermost axis is contiguous on both sides and long enough to be copied run by run",
    "the innermost axis is contiguous on both sides but short: each run moves as one wide element",
    "no axis of src has stride 1, so elements are fetched one by one",
    "dst fits the cache: register blocks are stored straight to dst",
    "no src run is a line long without axes that belong to a dst run: boxes of both are turned in the cache",
    "register blocks, through a small buffer where they fill no line, and dst is written in whole lines",
};

const char* family_of_line(int line) noexcept {
  constexpr const char* families[] = {"",       "copy",   "copy",   "scatter", "runs",
                                      "gather", "gather", "cached", "box",     "stream"};
  return families[line];
}

bool contiguous_run(const map::canonical& form) noexcept {
  return form.rank == 0 || (form.rank == 1 && form.axes[0].src_stride == 1 && form.axes[0].dst_stride == 1);
}

// The axes that no chain has taken yet.
class axis_pool {
 public:
  explicit axis_pool(const map::canonical& form) noexcept : count_(form.rank) {
    std::copy_n(form.axes.begin(), form.rank, left_.begin());
  }

  [[nodiscard]] const axis* find(std::int64_t axis::*stride, std::int64_t value) const noexcept {
    for (int k = 0; k < count_; ++k) {
      if (left_[k].*stride == value) return &left_[k];
    }
    return nullptr;
  }

  [[nodiscard]] const axis* smallest(std::int64_t axis::*stride) const noexcept {
    return std::min_element(left_.data(), left_.data() + count_, [stride](const axis& a, const axis& b) {
      return magnitude(a.*stride) < magnitude(b.*stride);
    });
  }

  void take(const axis* one, chain& into) noexcept {
    into.axes[into.rank++] = *one;
    into.total *= one->extent;
    std::copy(one + 1, static_cast<const axis*>(left_.data()) + count_, left_.data() + (one - left_.data()));
    --count_;
  }

  // The axis that continues a chain in src or in dst.
  [[nodiscard]] const axis* next(std::int64_t axis::*stride, const chain& grown) const noexcept {
    const axis& last = grown.axes[grown.rank - 1];
    std::int64_t continued = 0;
    return base::checked_mul(last.*stride, last.extent, continued) ? find(stride, continued) : nullptr;
  }
  [[nodiscard]] bool continues(const chain& cols, bool in_dst_too) const noexcept {
    const axis* one = next(&axis::src_stride, cols);
    return one != nullptr && (!in_dst_too || one == next(&axis::dst_stride, cols));
  }

  // True when `one` is needed to make a src row that begins with `column` so many words long.
  [[nodiscard]] bool lengthens(const axis& column, const axis& one, std::int64_t words) const noexcept {
    chain row;
    row.axes[row.rank++] = column;
    for (std::int64_t have = column.extent; have < words;) {
      const axis* following = next(&axis::src_stride, row);
      if (following == nullptr) return false;
      if (*following == one) return true;
      have *= following->extent;
      row.axes[0] = *following;
    }
    return false;
  }

  void take_rest(chain& into) noexcept {  // outermost in dst first, so that the last axis is the fastest
    for (int k = 0; k < count_; ++k) {
      into.axes[into.rank++] = left_[k];
      into.total *= left_[k].extent;
    }
    count_ = 0;
  }

  // The axes, innermost first, that lie end to end on one side, until they are `words` long.
  [[nodiscard]] chain run_of(std::int64_t axis::*stride, std::int64_t words) const noexcept {
    chain run;
    for (const axis* one = find(stride, 1); one != nullptr; one = run.total < words ? next(stride, run) : nullptr) {
      run.axes[run.rank++] = *one;
      run.total *= one->extent;
    }
    return run;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  std::array<axis, map::max_axes> left_{};
  int count_;
};

// True when column c + 1 begins in dst where column c ends, for every c.
bool columns_end_to_end(const job& work, std::int64_t unit) noexcept {
  std::int64_t expected = work.rows.total * unit;
  for (int k = 0; k < work.cols.rank; ++k) {
    if (work.cols.axes[k].dst_stride != expected) return false;
    expected *= work.cols.axes[k].extent;
  }
  return true;
}

// Splits the axes into rows, cols and outer. `unit` is the number of words of an element; chains: rows and cols may be
// several axes that continue each other. Where the rows are few, columns that lie end to end in dst are worth more than
// long runs in src: they make dst runs that are long enough to be written in lines. Where the rows are many, an axis
// that could lengthen either goes to the columns until a src row is as long as a panel.
void assign_axes(job& work, std::int64_t unit, bool chains, const cpu_tuning& tuned) noexcept {
  axis_pool left(work.form);
  if (unit > 1) {
    chain run;
    left.take(left.find(&axis::dst_stride, 1), run);
  }
  const axis* src_unit = left.find(&axis::src_stride, unit);
  const axis* dst_unit = left.find(&axis::dst_stride, unit);
  // An axis that is the unit axis of both sides is a row axis: dst is the side that is written in whole lines.
  const axis column = src_unit != nullptr && src_unit != dst_unit ? *src_unit : axis{};
  left.take(dst_unit, work.rows);
  for (const axis* next = nullptr; chains && (next = left.next(&axis::dst_stride, work.rows)) != nullptr &&
                                   *next != column &&
                                   !(work.rows.total * work.element_bytes >= tuned.long_run_bytes &&
                                     column.extent > 1 && left.lengthens(column, *next, tuned.panel_cols));) {
    left.take(next, work.rows);
  }
  if (!left.empty()) {
    const axis* first = left.find(&axis::src_stride, unit);
    if (first == nullptr || first->extent == 1) first = left.smallest(&axis::src_stride);
    left.take(first, work.cols);
    const bool few_rows = work.rows.total * work.element_bytes <= tuned.packed_bytes && columns_end_to_end(work, unit);
    while (chains && left.continues(work.cols, few_rows)) left.take(left.next(&axis::src_stride, work.cols), work.cols);
    work.src_col_bytes = work.cols.axes[0].src_stride * work.form.word_bytes;
  }
  left.take_rest(work.outer);
}

// Runs that follow in dst lie far apart in src, and the other way round. So the axis that is fastest in dst is cut in
// two, and the one that is nearest in src is walked between its parts: a few runs of dst, then those beside them in src.
void alternate(job& work, std::int64_t run_bytes, const cpu_tuning& tuned) noexcept {
  chain& outer = work.outer;
  if (outer.rank < 2 || outer.rank == map::max_axes || 2 * run_bytes > tuned.alternate_bytes) return;
  const auto begin = outer.axes.begin();
  const auto last = begin + outer.rank - 1;
  const auto nearest = std::min_element(
      begin, last + 1, [](const axis& a, const axis& b) { return magnitude(a.src_stride) < magnitude(b.src_stride); });
  if (nearest == last) return;
  std::int64_t together = tuned.alternate_bytes / run_bytes;
  while (last->extent % together != 0) --together;
  if (together * run_bytes * 2 < tuned.alternate_bytes) return;
  const axis near = *nearest;
  const axis inner = {together, last->src_stride, last->dst_stride};
  std::copy(nearest + 1, last + 1, nearest);
  *(last - 1) = {last->extent / together, last->src_stride * together, last->dst_stride * together};
  *last = near;
  *(last + 1) = inner;
  ++outer.rank;
  work.alternates = true;
}

bool holds(const chain& axes, const axis& one) noexcept {
  return std::find(axes.axes.data(), axes.axes.data() + axes.rank, one) != axes.axes.data() + axes.rank;
}

// A box: runs of a line at least on both sides, of four if that many fit. False where there is none.
bool assign_box(job& work, const cpu_tuning& tuned) noexcept {
  const axis_pool axes(work.form);
  const std::int64_t word = work.form.word_bytes;
  for (std::int64_t words = 256 / word; words * word >= 64; words /= 2) {
    const chain src_run = axes.run_of(&axis::src_stride, words);
    work.rows = axes.run_of(&axis::dst_stride, words);
    if (std::min(work.rows.total, src_run.total) * word < 64) return false;
    work.cols = work.outer = chain{};
    std::int64_t room = tuned.box_bytes / word;
    for (int k = 0; k < work.form.rank; ++k) {
      const axis& one = work.form.axes[k];
      const bool inside = holds(work.rows, one) || holds(src_run, one);
      if (inside) room /= one.extent;
      if (holds(work.rows, one)) continue;
      chain& into = inside ? work.cols : work.outer;
      into.axes[into.rank++] = one;
      into.total *= one.extent;
    }
    if (room > 0) return kernels::cpu::runs_of_box(work).whole;
  }
  return false;
}

bool fits_a_box(const map::canonical& form, const cpu_tuning& tuned) noexcept {
  job trial;
  trial.form = form;
  return assign_box(trial, tuned);
}

// Lines of a dst run that are written together. One, where neighbouring runs lie in different slices of the last-level
// cache, through which every store goes: a slice is bits 6 to 8 of the address. Where all runs lie in the same one,
// four lines keep four slices at work; where they do not begin at lines, a carry is spread over two.
std::int64_t lines_together(const job& work, const cpu_tuning& tuned) noexcept {
  const std::int64_t pitch = work.cols.rank == 0 ? 0 : work.cols.axes[0].dst_stride * work.form.word_bytes;
  if (pitch % 64 != 0) return work.element_bytes == 2 || work.element_bytes == 4 ? tuned.carried_lines : 1;
  return pitch % 512 == 0 ? tuned.parked_lines : 1;
}

bool runs_at_lines(const job& work) noexcept {
  return work.cols.rank == 0 || work.cols.axes[0].dst_stride * work.form.word_bytes % 64 == 0;
}

// True where strips-inl.hpp moves it: there is a whole block of one at least, or a narrower one of whole registers.
bool walks_strips(const job& work, const cpu_tuning& tuned) noexcept {
  const auto strip =
      static_cast<std::int64_t>(kernels::cpu::rows_of_strip(static_cast<std::size_t>(work.element_bytes)));
  const std::int64_t row_bytes = work.cols.total * work.element_bytes;
  return tuned.strip_bytes > 0 && work.rows.total >= strip &&
         (row_bytes >= kernels::cpu::strip_block_bytes || (work.element_bytes >= 4 && row_bytes % 16 == 0));
}

// True where few_columns-inl.hpp moves it. Strips that are stored from registers alone stay: 64 channels of float32 0.88
// so, 0.78 as few columns (Intel Xeon, 2 MiB of L2, 2026-11-22).
bool has_few_columns(const job& work, const cpu_tuning& tuned) noexcept {
  const std::int64_t word = work.form.word_bytes, cols = work.cols.total, row_bytes = cols * word;
  const bool whole_registers = word >= 4 && row_bytes >= 64 && row_bytes % 16 == 0 && walks_strips(work, tuned);
  return work.element_bytes == word && word <= 8 && row_bytes <= tuned.few_columns_bytes && work.cols.rank == 1 &&
         work.rows.axes[0].src_stride == cols && work.rows.total * word >= tuned.few_columns_run_bytes &&
         !whole_registers;
}

// True where few_rows-inl.hpp moves a packed job. Whole lines of 8-byte words are better end to end: 8 rows 0.97 so, 0.86
// as few rows, 16 rows 0.90 and 0.76 (Intel Xeon, 2 MiB of L2, 2026-11-22).
bool has_few_rows(const job& work, const cpu_tuning& tuned) noexcept {
  const std::int64_t word = work.form.word_bytes, rows = work.rows.total;
  return work.streaming && work.element_bytes == word && word <= 8 && (word < 8 || rows % 8 != 0) &&
         rows * word <= tuned.few_rows_bytes && work.cols.total * word >= tuned.few_rows_run_bytes;
}

// True where the units in order read src from its begin to its end, but for an order of their own within 16 KiB, for so
// many bytes at least.
bool reads_in_order(const job& work, std::int64_t bytes) noexcept {
  std::int64_t words = 1;
  const auto continues = [&words](const axis& one) {
    if (one.src_stride != words) return false;
    words *= one.extent;
    return true;
  };
  for (int k = 0; k < work.cols.rank; ++k) {
    if (!continues(work.cols.axes[k])) return false;
  }
  if (work.panel != work.cols.total) return false;
  for (int k = 0; k < work.rows.rank; ++k) {
    if (!continues(work.rows.axes[k])) return false;
  }
  for (int k = work.outer.rank - 1; k >= 0 && continues(work.outer.axes[k]); --k) continue;
  return words * work.form.word_bytes >= bytes;
}

// Panels, groups and row chunks: how much of the problem is in flight at once, and what a unit is.
void cut(job& work, const cpu_tuning& tuned, int threads, bool blocks) noexcept {
  const std::int64_t e = work.element_bytes;
  const std::int64_t unit = e / work.form.word_bytes;
  const bool strips = blocks && walks_strips(work, tuned);
  work.packed = work.rows.total * e <= tuned.packed_bytes && columns_end_to_end(work, unit) &&
                !(strips && e >= 4 && work.rows.total >= 32);
  if (work.packed) {
    work.group = work.rows.total;
    // A line of each row at least, and about as much of dst as the packed buffer takes.
    const std::int64_t cols = std::max(std::int64_t{64} / e, tuned.packed_panel_bytes / (work.rows.total * e));
    work.panel = std::clamp<std::int64_t>(cols, 1, work.cols.total);
    if (work.rows.total * e % 64 == 0) work.prefetch_bytes = tuned.scout_bytes;
    if (blocks && has_few_rows(work, tuned)) {
      work.few_rows = true;
      work.panel = std::min(work.cols.total, tuned.few_rows_panel_bytes / e);
    }
  } else if (blocks && has_few_columns(work, tuned)) {
    work.few_columns = true;
    work.panel = work.cols.total;
    work.group = std::min(kernels::cpu::column_group_bytes / e, work.rows.total);
  } else if (strips) {
    cut_strips(work, e, tuned);
  } else if (work.panel = std::min(work.cols.total, tuned.panel_cols);
             blocks && !kernels::cpu::splits_columns(work) && !(tuned.whole_pieces && e >= 2 && runs_at_lines(work))) {
    work.parked = lines_together(work, tuned);
    work.prefetch_bytes = std::max(tuned.scout_bytes, 2 * 64 * 64 / e);  // two blocks at least
    // Runs whole pages apart share a few sets of the TLB.
    const bool by_pages = work.cols.axes[0].dst_stride * work.form.word_bytes % 4096 == 0;
    work.panel = by_pages ? tuned.panel_cols / 2 : work.parked == 1 ? tuned.direct_cols : tuned.panel_cols;
    work.panel = std::min(work.panel, work.cols.total);
    if (by_pages) work.prefetch_bytes /= 2;
    work.group = std::min(work.parked * 64 / e, work.rows.total);
  } else {
    work.panel = std::min(work.cols.total, std::max<std::int64_t>(16, tuned.panel_bytes / e));
    // Pieces of at least piece_bytes in whole strips; a narrow panel takes longer ones, as many rows as narrow_buffer
    // holds.
    // Whole lines, so that none is left over to the next group where runs begin at lines.
    const std::int64_t strip = e <= 16 ? std::max<std::int64_t>(kernels::cpu::strip_rows, 64 / e) : 1;
    const bool at_lines = runs_at_lines(work);
    work.parked = 0;
    const std::int64_t piece = e <= 2     ? tuned.narrow_piece_bytes
                               : at_lines ? tuned.piece_bytes
                                          : tuned.carried_piece_bytes;
    const std::int64_t rows = std::max(piece / e, tuned.narrow_buffer / (e * work.panel));
    work.group = std::min(ceil_div(std::max<std::int64_t>(rows, 1), strip) * strip, work.rows.total);
  }
  work.row_chunk = work.rows.total;
  const std::int64_t whole = work.outer.total * work.panels();
  if (!work.packed && threads > 1 && whole < std::int64_t{16} * threads && whole % threads != 0) {
    work.row_chunk = ceil_div(ceil_div(work.rows.total, threads), work.group) * work.group;
  }
  work.units = whole * work.row_chunks();
  work.by_pages = tuned.page_scout_bytes > 0 && reads_in_order(work, tuned.page_scout_bytes);
}

bool holds_a_block(const axis& row, const axis& column, std::int64_t word_bytes) noexcept {
  return row.extent >= kernels::cpu::block_rows(word_bytes) && column.extent >= kernels::cpu::block_cols(word_bytes);
}

// Tiny matrices end to end are turned several at a time, in the cache as elsewhere.
bool tiny_batch(const map::canonical& form, const axis& row, const axis& column) noexcept {
  const std::int64_t words = row.extent * column.extent;
  return form.rank == 3 && form.axes[0].src_stride == words && form.axes[0].dst_stride == words &&
         row.src_stride == column.extent && column.dst_stride == row.extent &&
         std::has_single_bit(static_cast<std::uint64_t>(words)) &&
         words * form.word_bytes <= kernels::cpu::tiny_bytes && form.word_bytes <= 8;
}

int decide(const map::canonical& form, const cpu_tuning& tuned, std::int64_t cached_limit) noexcept {
  if (form.empty) return 1;
  if (contiguous_run(form)) return 2;
  const axis_pool axes(form);
  const axis* inner = axes.find(&axis::dst_stride, 1);
  if (inner == nullptr) return 3;
  if (inner->src_stride == 1) {
    const std::int64_t bytes = inner->extent * form.word_bytes;
    const axis* next_in_dst = axes.find(&axis::dst_stride, inner->extent);
    // Runs of a line are enough where those that follow in dst lie in the same page of src or the next one.
    const bool near = next_in_dst != nullptr && bytes >= tuned.near_run_bytes &&
                      magnitude(next_in_dst->src_stride) <= 4096 / form.word_bytes;
    return bytes >= tuned.run_bytes || next_in_dst == nullptr || near ? 4 : 5;
  }
  const axis* column = axes.find(&axis::src_stride, 1);
  if (column == nullptr) return 6;
  if (map::words(form) * form.word_bytes <= cached_limit && holds_a_block(*inner, *column, form.word_bytes) &&
      !tiny_batch(form, *inner, *column)) {
    return 7;
  }
  // A src run of less than a line, the rows included where they follow in src.
  const std::int64_t src_run = column->extent * (inner->src_stride == column->extent ? inner->extent : 1);
  if (src_run < 64 / form.word_bytes && fits_a_box(form, tuned)) return 8;
  return 9;
}

const kernels::kernel* row_of(const char* family, std::int64_t word_bytes) noexcept {
  for (const kernels::kernel& one : kernels::all()) {
    if (std::string_view(one.backend) == "cpu" && std::string_view(one.family) == family &&
        (one.element_bytes == 0 || one.element_bytes == word_bytes)) {
      return &one;
    }
  }
  return nullptr;
}

// The line at which a forced kernel would have been chosen; 0 when it cannot move this problem.
int line_of_forced(const kernels::kernel& forced, const map::canonical& form, int natural,
                   const cpu_tuning& tuned) noexcept {
  const std::string_view family = forced.family;
  if (forced.element_bytes != 0 && forced.element_bytes != form.word_bytes) return 0;
  if (natural == 1 || natural == 2 || family == "copy") return family == family_of_line(natural) ? natural : 0;
  const axis_pool axes(form);
  const axis* inner = axes.find(&axis::dst_stride, 1);
  if (family == "scatter") return 3;
  if (inner == nullptr) return 0;
  if (family == "runs") return inner->src_stride == 1 ? 4 : 0;
  if (family == "gather") return natural == 5 ? 5 : 6;
  const axis* column = axes.find(&axis::src_stride, 1);
  if (column == nullptr || inner->src_stride == 1) return 0;
  if (family == "cached") return holds_a_block(*inner, *column, form.word_bytes) ? 7 : 0;
  if (family == "box") return fits_a_box(form, tuned) ? 8 : 0;
  return family == "stream" ? 9 : 0;
}

}  // namespace

void cut_strips(job& work, std::int64_t word_bytes, const cpu_tuning& tuned) noexcept {
  // Narrow words wait in windows in L2. Runs whole pages apart share a few sets of the TLB.
  const bool fewer = word_bytes <= 2 || work.cols.axes[0].dst_stride * word_bytes % 4096 == 0;
  work.row_lines = 2;
  work.parked = 2;
  work.prefetch_bytes = tuned.strip_ahead_bytes;
  // Panels of one width, in whole blocks, so that tasks have the same share.
  const std::int64_t panels = ceil_div(work.cols.total, tuned.strip_bytes / (fewer ? 2 * word_bytes : word_bytes));
  const std::int64_t block = kernels::cpu::strip_block_bytes / word_bytes;
  work.panel = std::min(work.cols.total, ceil_div(ceil_div(work.cols.total, panels), block) * block);
  work.group = std::min(work.parked * 64 / word_bytes, work.rows.total);
}

choice choose(const map::canonical& form, const request& wanted, const base::machine& machine) noexcept {
  const cpu_tuning& tuned = tuning_for(machine);
  choice made;
  job& work = made.work;
  work.form = form;
  work.form.src_offset = 0;  // a kernel's pointers are those of index 0
  work.form.dst_offset = 0;
  work.src_hi_bytes = map::src_span(work.form).hi;
  const std::int64_t cached_limit = std::max<std::int64_t>(cached_limit_bytes(machine) - wanted.beside_bytes, 0);
  made.line = decide(form, tuned, cached_limit);
  if (wanted.kernel == "cpu_reference") {
    made.kernel = kernels::find(wanted.kernel);
    made.reason = "asked for by name";
    work.units = form.empty ? 0 : 1;
    return made;
  }
  if (!wanted.kernel.empty()) {
    const kernels::kernel* forced = kernels::find(wanted.kernel);
    if (forced == nullptr) return made;
    made.line = line_of_forced(*forced, form, made.line, tuned);
    if (made.line == 0) return made;
  }
  made.reason = reasons[made.line];
  made.kernel = row_of(family_of_line(made.line), form.word_bytes);

  const std::int64_t bytes = map::words(form) * form.word_bytes;
  const int threads = static_cast<int>(std::clamp<std::int64_t>(bytes / (tuned.thread_bytes / 2), 1, wanted.threads));
  work.element_bytes = form.word_bytes;
  work.streaming = bytes > cached_limit;
  switch (made.line) {
    case 1:
      work.units = 0;
      break;
    case 2:
      work.element_bytes = bytes;
      work.units = ceil_div(bytes, 4096);
      work.by_pages = tuned.page_scout_bytes > 0;
      break;
    case 3:
      work.outer.rank = 0;
      axis_pool(form).take_rest(work.outer);
      work.units = work.outer.total;
      break;
    case 4: {
      axis_pool left(form);
      chain run;
      left.take(left.find(&axis::dst_stride, 1), run);
      work.element_bytes = run.total * form.word_bytes;
      left.take_rest(work.outer);
      if (work.streaming) alternate(work, work.element_bytes, tuned);
      work.units = work.outer.total;
      work.prefetch_bytes = tuned.run_ahead_bytes;
      break;
    }
    case 8:
      assign_box(work, tuned);
      work.panel = work.cols.total;
      work.group = work.row_chunk = work.rows.total;
      work.units = work.outer.total;
      work.prefetch_bytes = tuned.scout_bytes;
      break;
    default: {
      const std::int64_t unit = made.line == 5 ? form.axes[form.rank - 1].extent : 1;
      work.element_bytes = unit * form.word_bytes;
      work.prefetch_bytes = tuned.prefetch_bytes;
      assign_axes(work, unit, made.line != 7, tuned);
      cut(work, tuned, threads, made.line == 9);
      if (work.packed && work.panels() == 1 && work.streaming) {
        alternate(work, work.rows.total * work.cols.total * work.element_bytes, tuned);
      }
      if (made.line != 7) break;
      work.units = work.outer.total;  // a cached unit is a whole matrix
      // Words of 4 and 8 bytes lose where stores cross lines and the L1 does not hold it: 100 x 100 float32 2.3 us by
      // blocks, 3.1 so.
      work.line_tiles = tuned.line_tiles && form.word_bytes <= 8 && (form.word_bytes <= 2 || runs_at_lines(work)) &&
                        work.rows.total >= kernels::cpu::line_tile_rows(form.word_bytes) &&
                        work.cols.total >= kernels::cpu::line_tile_cols(form.word_bytes);
    }
  }
  made.threads = static_cast<int>(std::min<std::int64_t>(threads, std::max<std::int64_t>(work.units, 1)));
  return made;
}

}  // namespace cornerturn::planning
