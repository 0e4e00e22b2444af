// Arithmetic: offers of the walks that load elements, compute them and store them.
#include <algorithm>
#include <limits>

#include "kernels/cpu/apply/args.hpp"
#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::apply {
namespace {

using base::ceil_div;

constexpr std::int64_t line = 64;

// Most dst runs that are written side by side: uint8 to int32, 5000 x 6992, reaches 0.65 of a move with 1024 runs and 0.50
// with 4096 (Zen 4, 2026-11-21).
constexpr std::int64_t widest_panel = 1024;

// Most dst runs that are written side by side when strips are summed. The windows of 384 columns take 0.4 MiB. float32 5000
// x 6992 with alpha and beta reaches 0.79 of the copy with 384 columns, 0.74 with 256, 0.66 with 768 (SPR, 2026-11-22).
constexpr std::int64_t widest_panel_of_sums = 384;

bool has_second(const facts& known) noexcept { return known.math.second != second_array::none; }
bool is_large(const facts& known, const target& on) noexcept { return !fits_cache(known, on); }

// Costs of starts and of single words count bytes that a copy moves meanwhile. They and the constants of each row are fitted to the
// times of all rows for 816 random problems of 20 KB to 20 MB (Intel Xeon, model 207, 2026-11-29). A copy in cache is faster.
double instructions_of(const facts& known, const target& on) noexcept { return is_large(known, on) ? 1 : 2; }

void begin(args& work, const facts& known, const target& on) noexcept {
  work.word_bytes = work.element_bytes = work.src_col_bytes = known.form.word_bytes;
  work.dst_word_bytes = known.form.dst_word_bytes;
  work.math = known.math;
  work.src_end_bytes = map::src_span(known.form).hi;
  work.streaming = is_large(known, on) && !known.math.sums_into_dst;  // a sum has just read the lines of dst: in cache
  work.prefetch_bytes = is_large(known, on) ? costs_of(on).prefetch_bytes : 0;
}

void finish(offer& made, const args& work, const facts& known, const target& on, double time, bound binds) noexcept {
  share_out(made, known, costs_of(on), known.form.empty ? 0 : work.units());
  made.time = time;
  made.binds = binds;
}

// Effect  adds axes to `run` that continue it in the array of `stride`, until it has `enough` elements. With `with_second`
//         the axes must continue the run in the second array too
void lengthen(axis_pool& left, fused_axes& run, std::int64_t axis::*stride, bool with_second,
              std::int64_t enough) noexcept {
  while (run.total < enough) {
    const axis* const next = left.find_if(
        [&](const axis& one) { return one.*stride == run.total && (!with_second || one.second_stride == run.total); });
    if (next == nullptr) return;
    left.take(next, run);
  }
}

// Rows are contiguous in dst, columns in src. `along_src`: the second array, if any, is contiguous along the columns, else
// along the rows.
bool fill_tiles(args& work, const facts& known, const target& on, bool along_src) noexcept {
  if (!has_rows_and_columns(known) || known.dst_unit() == known.src_unit()) return false;
  if (has_second(known) && (along_src ? known.src_unit() : known.dst_unit())->second_stride != 1) return false;
  const cpu_costs& costs = costs_of(on);
  begin(work, known, on);
  const std::int64_t bytes = work.dst_word_bytes;
  axis_pool left(known.form);
  left.take(left.find(&axis::dst_stride, 1), work.rows);
  left.take(left.find(&axis::src_stride, 1), work.cols);
  const bool rows_with_second = has_second(known) && !along_src;
  lengthen(left, work.rows, &axis::dst_stride, rows_with_second, costs.long_run_bytes / bytes);
  lengthen(left, work.cols, &axis::src_stride, has_second(known) && along_src, costs.panel_cols);
  lengthen(left, work.rows, &axis::dst_stride, rows_with_second, INT64_MAX);
  left.take_rest(work.outer);
  work.panel =
      std::min({work.cols.total, std::max<std::int64_t>(16, costs.panel_bytes / work.word_bytes), widest_panel});
  const bool at_lines = work.cols.axes[0].dst_stride * bytes % 64 == 0;
  const std::int64_t piece = bytes <= 2 ? costs.narrow_piece_bytes
                             : at_lines ? costs.piece_bytes
                                        : costs.carried_piece_bytes;
  work.group = std::min(ceil_div(piece / bytes, std::int64_t{strip_rows}) * strip_rows, work.rows.total);
  return true;
}

// True when the walk of stream/strips-inl.hpp takes the problem: it holds a whole block, and a second array, if any, is a
// source with the strides of dst.
bool walks_strips(const args& work, const facts& known) noexcept {
  const std::int64_t bytes = work.dst_word_bytes;
  if (work.cols.total * bytes < strip_block_bytes ||
      work.rows.total < static_cast<std::int64_t>(rows_of_strip(static_cast<std::size_t>(bytes)))) {
    return false;
  }
  if (!has_second(known)) return true;
  const axis* const end = known.form.axes.data() + known.form.rank;
  return known.math.second == second_array::source && work.word_bytes == bytes &&
         std::all_of(known.form.axes.data(), end, [](const axis& one) { return one.second_stride == one.dst_stride; });
}

bool offer_tiles(const facts& known, const target& on, offer& made, bool along_src, double time) noexcept {
  auto& work = made.emplace<args>();
  if (!fill_tiles(work, known, on, along_src)) return false;
  // The machine's time has longer runs and rows.
  constexpr double run_start = 64, row_start = 24, computed_row_start = 48;
  const double run = static_cast<double>(work.rows.total * work.dst_word_bytes);
  const double row = static_cast<double>(work.cols.total * work.word_bytes);
  const bool is_short_run = work.group == work.rows.total;
  const bool is_short_row = !along_src || work.cols.total * work.dst_word_bytes < 2 * line;
  const double starts =
      (is_short_run ? run_start / run : 0) + (is_short_row ? (along_src ? computed_row_start : row_start) / row : 0);
  time += instructions_of(known, on) * starts;
  cut_rows(work, known, costs_of(on));
  finish(made, work, known, on, time, bound::issue);
  return true;
}

}  // namespace

bool offer_strips(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  auto& work = made.emplace<strips_args>();
  if (!fill_tiles(work, known, on, false) || !walks_strips(work, known)) return false;
  const cpu_costs& costs = costs_of(on);
  const std::int64_t block = strip_block_bytes / work.dst_word_bytes;
  cut_strips(work, work.dst_word_bytes, costs);
  if (has_second(known)) {
    const std::int64_t panels = ceil_div(work.cols.total, widest_panel_of_sums);
    work.panel = std::min(work.cols.total, ceil_div(ceil_div(work.cols.total, panels), block) * block);
    work.lines = summed_piece_bytes / 64;
    work.group = std::min(summed_piece_bytes / work.dst_word_bytes, work.rows.total);
  }
  cut_rows(work, known, costs);
  const double in_cache = is_large(known, on) ? 0 : costs.times.buffered_in_cache;
  constexpr double run_start = 360, row_start = 20;
  const double run = static_cast<double>(work.rows.total * work.dst_word_bytes);
  const double row = static_cast<double>(work.cols.total * work.dst_word_bytes);
  const double of_blocks = static_cast<double>(ceil_div(work.cols.total, block) * strip_block_bytes);
  const double starts = run_start / run + row_start / row + (of_blocks / row - 1);
  finish(made, work, known, on, costs.times.strips + 0.2 + in_cache + starts, bound::issue);
  made.reason = "register blocks of two lines of 8 to 32 rows are computed on their way to dst";
  return true;
}

bool offer_tile(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  made.reason = "register blocks go through a small buffer, and pieces of dst runs are computed there";
  return offer_tiles(known, on, made, false, costs_of(on).times.panels + 0.2);
}

// Elements that become smaller are computed before the transpose: float32 to bfloat16, 8192 x 8192, takes 0.50 ns an element
// so, and 0.64 ns when it is computed after the transpose (Zen 4, 2026-11-21).
bool offer_tile_src(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const bool smaller = known.form.dst_word_bytes < known.form.word_bytes && !has_second(known);
  made.reason = smaller ? "elements become smaller: runs of src are computed first, and fewer bytes are transposed"
                        : "runs of src are computed first, then transposed";
  return offer_tiles(known, on, made, true, costs_of(on).times.panels + (smaller ? 0.1 : 0.6));
}

bool offer_runs(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty) return false;
  const axis* const run = known.dst_unit();
  if (known.form.rank > 0) {
    if (run == nullptr || run->src_stride != 1 || (has_second(known) && run->second_stride != 1)) return false;
  }
  auto& work = made.emplace<args>();
  begin(work, known, on);
  axis_pool left(known.form);
  if (known.form.rank > 0) left.take(left.find(&axis::dst_stride, 1), work.rows);
  left.take_rest(work.outer);
  work.row_chunk = std::min<std::int64_t>(work.rows.total, 16 << 10);
  // 2 to 8 elements 0.05 to 0.17 of the roof, 0.57 to 0.93 by boxes (Intel Xeon, model 207, 2026-11-27).
  const double run_bytes = static_cast<double>(work.rows.total) * static_cast<double>(known.form.word_bytes);
  constexpr double run_start = 300;
  const double starts = work.outer.total > 1 ? instructions_of(known, on) * run_start / run_bytes : 0;
  finish(made, work, known, on, roof_of(known.form) + 0.2 + starts, bound::dram);
  made.reason = "the innermost axis is contiguous on all sides: runs are computed where they are";
  return true;
}

namespace {

constexpr std::int64_t box_bytes = 4096;       // of a box whose arrays have the order of dst
constexpr std::int64_t near_bytes = 16 << 10;  // lines of such a box that serve several of its columns
// Of a box with a transpose: shorter runs of a second array load more slowly; longer rows are more runs side by side.
constexpr std::int64_t turned_run_bytes = 1024, turned_row_bytes = 256;
constexpr std::int64_t few_elements = 8;  // inner elements that may be far apart in src

// The axes of a problem, fastest in dst first. Each of them leads upwards in dst.
fused_axes upwards(const map::canonical& form, view_args& work) noexcept {
  fused_axes made;
  for (int k = form.rank - 1; k >= 0; --k) {
    axis one = form.axes[static_cast<std::size_t>(k)];
    if (one.dst_stride < 0) {
      work.src_begin += (one.extent - 1) * one.src_stride * form.word_bytes;
      work.dst_begin += (one.extent - 1) * one.dst_stride * form.dst_word_bytes;
      work.second_begin += (one.extent - 1) * one.second_stride * form.dst_word_bytes;
      one = {one.extent, -one.src_stride, -one.dst_stride, -one.second_stride};
    }
    made.push(one);
  }
  return made;
}

// The axis behind `cut` that is nearest in an array, if it is nearer than the axis `cut`; else 0.
int nearer(const fused_axes& all, int cut, std::int64_t axis::*stride) noexcept {
  const auto step = [&](int k) { return base::magnitude(all.axes[static_cast<std::size_t>(k)].*stride); };
  int best = 0;
  for (int k = cut + 1; k < all.rank; ++k) {
    if (step(k) != 0 && step(k) < step(best == 0 ? cut : best)) best = k;
  }
  return best;
}

// Short axes of dst that are parts of an element: as long as they fit a line.
int take_inner(const fused_axes& all, gather_args& work) noexcept {
  int cut = 0;
  std::int64_t span = work.dst_word_bytes;
  const auto at = [&](int k) { return all.axes[static_cast<std::size_t>(k)]; };
  const auto is_far = [&](int k) { return base::magnitude(at(k).src_stride) * work.word_bytes >= line; };
  for (; cut < all.rank - 1; ++cut) {
    const axis one = at(cut);
    const std::int64_t total = work.inner_total * one.extent;
    span += (one.extent - 1) * one.dst_stride * work.dst_word_bytes;
    if (span > line || total * std::max(work.word_bytes, work.dst_word_bytes) > line) break;
    const bool is_unit = one.src_stride == work.inner_total;
    if (!is_unit && is_far(cut) && (is_far(cut + 1) || total > few_elements)) break;
    work.rows.push(one);
    work.inner_total = total;
  }
  work.inner = cut;
  return cut;
}

constexpr double turned_row_start = 120, box_run_start = 100, box_start = 400;

// Bytes of an element, the mean of src and dst.
double mean_bytes(const facts& known) noexcept {
  return static_cast<double>(known.bytes) / static_cast<double>(map::words(known.form));
}

// Cost of an element that is picked from an array, or scattered to it, along the axis that is cut.
double picks(const gather_args& work, std::int64_t axis::*stride, std::int64_t bytes, const cpu_times& times) noexcept {
  std::int64_t packed = 1, span = 1;  // words of the inner axes
  bool is_unit = true;
  for (int k = 0; k < work.inner; ++k) {
    const axis& one = work.rows.axes[static_cast<std::size_t>(k)];
    is_unit = is_unit && one.*stride == packed;
    packed *= one.extent;
    span += (one.extent - 1) * base::magnitude(one.*stride);
  }
  // A window for each word, or one window for all words.
  if (!is_unit) return (span * bytes > line ? 2 : 0.5) * times.step_word_bytes;
  const axis down = work.rows.rank > work.inner ? work.rows.axes[static_cast<std::size_t>(work.inner)] : axis{};
  if (down.*stride == packed) return 0;
  const double elements = std::max(1.0, static_cast<double>(line) / static_cast<double>(packed * bytes));
  const double step = static_cast<double>(base::magnitude(down.*stride)) / static_cast<double>(packed);
  const double windows = std::clamp(step, 1.0, elements);
  const double picked = times.step_window_bytes * (windows <= 4 ? windows + 1 : 2 * windows) / elements;
  return (windows < elements ? picked : std::min(times.step_word_bytes, picked)) / static_cast<double>(packed);
}

}  // namespace

bool offer_gather(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  auto& work = made.emplace<gather_args>();
  begin(work, known, on);
  made.reason = "there is nothing to compute";
  if (known.form.empty) {
    finish(made, work, known, on, 0, bound::nothing);
    return true;
  }
  const fused_axes all = upwards(known.form, work);
  const int cut = take_inner(all, work);
  const axis down = all.rank > 0 ? all.axes[static_cast<std::size_t>(cut)] : axis{};
  if (all.rank > 0) work.rows.push(down);
  int across = nearer(all, cut, &axis::src_stride);
  if (across == 0 && has_second(known)) across = nearer(all, cut, &axis::second_stride);
  if (across == 0) across = cut + 1;
  for (int k = all.rank - 1; k > cut; --k) {
    (k == across ? work.cols : work.outer).push(all.axes[static_cast<std::size_t>(k)]);
  }
  const axis side = work.cols.rank > 0 ? work.cols.axes[0] : axis{};
  const std::int64_t word = std::max(work.word_bytes, work.dst_word_bytes), wide = work.inner_total * word;
  const bool turned_src = is_turned(down.src_stride * work.word_bytes, side.src_stride * work.word_bytes);
  const bool turned_second =
      is_turned(down.second_stride * work.dst_word_bytes, side.second_stride * work.dst_word_bytes);
  std::int64_t rows = std::max(box_bytes / wide, std::int64_t{1}), cols = 1;
  if (turned_src || turned_second) {
    rows = std::max(turned_run_bytes / wide, std::int64_t{16});
    const std::int64_t step = turned_src ? side.src_stride * work.word_bytes : side.second_stride * work.dst_word_bytes;
    cols = std::max(turned_row_bytes / base::magnitude(step), std::int64_t{16});
  } else if (base::magnitude(side.src_stride) < base::magnitude(down.src_stride)) {
    cols = std::min(side.extent, std::max(line / work.word_bytes, std::int64_t{1}));
    rows = std::max(near_bytes / (base::magnitude(down.src_stride) * work.word_bytes), line / word);
  } else if (down.extent < rows) {
    cols = base::ceil_div(rows, down.extent);
  }
  work.panel = std::min({cols, work.cols.total, most_box_cols});
  work.group = std::min(std::max(rows, line) * work.inner_total, work.rows.total);
  cut_rows(work, known, costs_of(*on.cpu));
  // Short runs begin and end inside of lines. 1817 x 31 rows of 17 float64 to float32, backwards: 1.66 ms streamed, .96 ms through the
  // cache (Intel Xeon, model 207, 2026-11-29).
  if (!turned_src && down.extent < 4 * line / wide && all.rank > cut + 1) work.streaming = false;
  const cpu_times& times = costs_of(on).times;
  double words = turned_src ? turned_row_start / static_cast<double>(work.panel) : 0;
  if (known.math.reads_src() && !turned_src) words += picks(work, &axis::src_stride, work.word_bytes, times);
  words += picks(work, &axis::dst_stride, work.dst_word_bytes, times);
  if (has_second(known) && !turned_second) words += picks(work, &axis::second_stride, work.dst_word_bytes, times);
  const double run = static_cast<double>(std::min(work.rows.total, work.group));
  words += box_run_start / run + box_start / (run * static_cast<double>(work.panel));
  finish(made, work, known, on,
         roof_of(known.form) +
             (!turned_src         ? 0.5
              : has_second(known) ? 2
                                  : 1) +
             instructions_of(known, on) * words / mean_bytes(known),
         bound::requests);
  made.reason = "arrays of any strides go through the cache, box by box: gathered, computed and scattered";
  return true;
}

namespace {

constexpr std::int64_t table_box_bytes = 8 << 10;  // of an array in a box: three buffers and the tables stay in the L1
constexpr std::int64_t most_table_cols = 16;       // of one axis: more would be too many pages of dst
constexpr std::int64_t least_table_rows = 16;

// Numbers of the axes whose elements share lines of src, the nearest first. Returns how many.
int axes_of_src_lines(const fused_axes& all, std::int64_t word, std::array<int, map::max_axes>& made) noexcept {
  int count = 0;
  const auto step = [&](int k) { return base::magnitude(all.axes[static_cast<std::size_t>(k)].src_stride); };
  for (int k = 0; k < all.rank; ++k) {
    if (step(k) == 0 || step(k) * word >= line) continue;
    int at = count++;
    for (; at > 0 && step(k) < step(made[static_cast<std::size_t>(at - 1)]); --at)
      made[static_cast<std::size_t>(at)] = made[static_cast<std::size_t>(at - 1)];
    made[static_cast<std::size_t>(at)] = k;
  }
  return count;
}

// Fills rows, columns and outer axes, for boxes of about `elements`. Rows are the fastest axes of dst. Columns are the axes whose
// elements share lines of src, unless the rows have them: a box takes all that it needs of a line.
void fill_box(const fused_axes& all, std::int64_t elements, tables_args& work) noexcept {
  std::array<int, map::max_axes> near{};
  const int near_axes = axes_of_src_lines(all, work.word_bytes, near);
  std::array<bool, map::max_axes> in_rows{}, in_cols{};
  const auto axis_of = [&](std::size_t k) -> const axis& { return all.axes[k]; };
  for (std::int64_t most_rows = elements;;) {
    work.rows = work.cols = {};
    in_rows = {};
    work.row_chunk = work.panel = 1;
    for (std::size_t k = 0; static_cast<int>(k) < all.rank && !in_cols[k] && work.row_chunk < most_rows; ++k) {
      const std::int64_t tile = std::min(axis_of(k).extent, base::ceil_div(most_rows, work.row_chunk));
      in_rows[k] = true;
      work.rows.push(axis_of(k));
      work.row_chunk *= tile;
      if (tile < axis_of(k).extent) break;
    }
    in_cols = {};
    for (int n = 0; n < near_axes; ++n) {
      const auto k = static_cast<std::size_t>(near[static_cast<std::size_t>(n)]);
      if (in_rows[k]) continue;
      const std::int64_t of_line = line / (base::magnitude(axis_of(k).src_stride) * work.word_bytes);
      const std::int64_t tile = std::min({axis_of(k).extent, of_line, most_table_cols});
      if (tile == 1) continue;
      in_cols[k] = true;
      work.cols.push(axis_of(k));
      work.panel *= tile;
      if (tile < axis_of(k).extent) break;
    }
    // The columns leave fewer rows to a box, which may then lack an axis.
    const std::int64_t left = std::max(elements / work.panel, least_table_rows);
    if (work.panel == 1 || left >= most_rows) break;
    most_rows = left;
  }
  for (int k = all.rank - 1; k >= 0; --k) {
    const auto at = static_cast<std::size_t>(k);
    if (!in_rows[at] && !in_cols[at]) work.outer.push(axis_of(at));
  }
}

// True if 32 bits hold the offsets of a box in an array. Only the last axis of the rows and of the columns is cut.
bool fits_tables(const tables_args& work, std::int64_t axis::*stride, std::int64_t bytes) noexcept {
  std::int64_t span = 0;
  const auto add = [&](const fused_axes& all, std::int64_t left) {
    for (int k = 0; k < all.rank; ++k) {
      const axis& one = all.axes[static_cast<std::size_t>(k)];
      const std::int64_t tile = std::min(left, one.extent);
      left /= tile;
      span += (tile - 1) * base::magnitude(one.*stride) * bytes;
    }
  };
  add(work.rows, work.row_chunk);
  add(work.cols, work.panel);
  return span <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

bool offer_tables(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || known.form.rank == 0) return false;
  auto& work = made.emplace<tables_args>();
  begin(work, known, on);
  const fused_axes all = upwards(known.form, work);
  const std::int64_t word = std::max(work.word_bytes, work.dst_word_bytes);
  fill_box(all, std::min(table_box_bytes / word, most_table_entries), work);
  if (!fits_tables(work, &axis::src_stride, work.word_bytes) ||
      !fits_tables(work, &axis::dst_stride, work.dst_word_bytes) ||
      !fits_tables(work, &axis::second_stride, work.dst_word_bytes)) {
    return false;
  }
  // Words of a piece of an array; 0: the rows are contiguous in it.
  const auto piece_of = [&](std::int64_t axis::*stride) {
    std::int64_t words = 1;
    for (int k = 0; k < work.rows.rank; ++k) {
      const axis& one = work.rows.axes[static_cast<std::size_t>(k)];
      if (one.*stride != words) return words;
      words *= one.extent;
    }
    return work.cols.rank == 0 ? 0 : work.row_chunk;
  };
  double pieces = 0;  // of an element
  const auto add = [&](std::int64_t words) { pieces += words == 0 ? 0 : 1 / static_cast<double>(words); };
  if (known.math.reads_src()) add(piece_of(&axis::src_stride));
  const std::int64_t dst_piece = piece_of(&axis::dst_stride);
  add(dst_piece);
  if (has_second(known)) add(piece_of(&axis::second_stride));
  work.streaming = work.streaming && dst_piece == 0;
  constexpr double words_of_piece = 1.7, box_start_of_tables = 400, table_start = 500;
  const double box = static_cast<double>(work.row_chunk * work.panel);
  const double words = words_of_piece * costs_of(on).times.step_word_bytes * pieces + box_start_of_tables / box +
                       table_start / static_cast<double>(map::words(known.form));
  finish(made, work, known, on, roof_of(known.form) + 2.5 + instructions_of(known, on) * words / mean_bytes(known),
         bound::issue);
  made.reason =
      "boxes of any axes go through the cache, by tables of offsets: all elements of a box are computed as one run";
  return true;
}

}  // namespace cornerturn::kernels::cpu::apply
