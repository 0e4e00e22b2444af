// The decision list of the CPU engine for problems whose src is their dst. The first line whose condition holds wins.
//   1  every element is where it belongs                                        nothing
//   2  pairs of places trade: words, columns side by side                       swap_b*
//   3  pairs of places trade: anything else                                     swap
//   4  rectangles that fit the workspace: there and back                        the out-of-place kernel and copy
//   5  rectangles of long items                                                 cycles
//   6  rows in strips: each is turned out of place into the room of the one     ... and cycles
//      before, and all are then items of a matrix whose columns follow cycles
//   7  columns in strips: the same backwards                                    cycles and ...
//   8  6, but for a few rows, which wait in the workspace until all others      pitch too
//      have made room for them
//   9  7, but for a few columns
//
//   6, four strips of three rows, a place each:                                   columns of strips are items
//        array  |0 0 0|1 1 1|2 2 2|3 3 3|    |1'   |2'   |3'   |     |    |1'   |2'   |3'   |0'   |     -> cycles
//    workspace  |     |                      |0'   |                      |     |
#include "plan/in_place.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/cpu/cycles.hpp"
#include "kernels/cpu/swap.hpp"
#include "plan/tuning.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using kernels::job;

constexpr const char* reasons[] = {
    "",
    "every element is where it belongs",
    "places trade their words in pairs, and columns lie side by side: blocks are turned in registers",
    "places trade their elements in pairs, one by one",
    "the rectangle fits the workspace: it is turned out of place and copied back",
    "the elements are so long that each follows its cycle at once",
    "strips of rows are turned out of place, each into the room of the one before; then their columns follow cycles",
    "rows of strips of columns follow cycles; then the strips are turned out of place, each into the room before it",
    "as line 6 but for a few rows that wait in the workspace: the number of rows has no divisor that would do",
    "as line 7 but for a few columns that wait in the workspace: the number of columns has no divisor that would do",
};

// Strips into which a large rectangle is cut: the workspace is one of them, so it is a twentieth at most.
constexpr std::int64_t fewest_strips = 20;
// Shorter items cost as much as one more pass. AMD EPYC 4th generation, 2026-11-21.
constexpr std::int64_t item_bytes = 256;
constexpr std::int64_t long_item_bytes = 1024;
constexpr int most_pitch_tasks = 8;

choice forced_row(const char* name, const map::canonical& form) noexcept {
  choice made;
  made.kernel = kernels::find(name);
  made.work.form = form;
  made.work.form.src_offset = 0;
  made.work.form.dst_offset = 0;
  return made;
}

int threads_for(std::int64_t bytes, const request& wanted, const base::machine& machine) noexcept {
  const std::int64_t each = tuning_for(machine).thread_bytes / 2;
  return static_cast<int>(std::clamp<std::int64_t>(bytes / each, 1, std::max(wanted.threads, 1)));
}

bool takes(const request& wanted, std::string_view name) noexcept {
  return wanted.kernel.empty() || wanted.kernel == name;
}

// 2, 3
in_place_choice involution(const map::canonical& form, const map::in_place_form& places, const request& wanted,
                           const base::machine& machine) {
  in_place_choice made;
  const std::int64_t element = places.unit * form.word_bytes;
  const bool words = places.unit == 1 && places.pairs[0].dst_stride == 1;
  const kernels::kernel* const any = kernels::find("cpu_swap");
  for (const kernels::kernel& row : kernels::all()) {
    if (row.turn == nullptr || row.family != std::string_view("swap") || !takes(wanted, row.name)) continue;
    if (&row == any ? (words && wanted.kernel.empty()) : (!words || row.element_bytes != form.word_bytes)) continue;
    made.kernel = &row;
  }
  if (made.kernel == nullptr) return made;
  made.line = made.kernel == any ? 3 : 2;
  made.passes = 1;

  in_place_step step;
  step.how = forced_row(made.kernel->name, form);
  job& work = step.how.work;
  work.element_bytes = element;
  for (int k = 0; k < places.pair_count; ++k) {
    work.rows.axes[work.rows.rank++] = places.pairs[k];
    work.rows.total *= places.pairs[k].extent;
  }
  for (int k = 0; k < places.fixed_count; ++k) {
    work.outer.axes[work.outer.rank++] = places.fixed[k];
    work.outer.total *= places.fixed[k].extent;
  }
  const axis& first = places.pairs[0];
  const auto cut = [&](std::int64_t panel) {
    const std::int64_t tiles = work.rows.total / first.extent * ceil_div(first.extent, panel);
    work.panel = panel;
    work.units = work.outer.total * (tiles * (tiles + 1) / 2);
  };
  // Rows so far apart meet in few sets of L2: 8192 x 8192 float32 has 0.33 to 0.36 of a rewrite with the larger tiles,
  // 0.40 to 0.43 so (Intel Xeon, model 143, 2026-11-22).
  const bool few_sets = first.src_stride * element % 8192 == 0;
  const std::int64_t tile_bytes = few_sets ? kernels::cpu::swap_buffered_bytes : tuning_for(machine).swap_bytes;
  const int threads = threads_for(2 * map::words(form) * form.word_bytes, wanted, machine);
  cut(made.kernel == any ? kernels::cpu::swap_block(element) : tile_bytes / element);
  // Units are as unequal as tiles are ragged, and those of the diagonal are half of the others.
  while (made.kernel != any && threads > 1 && work.units < 16 * threads && work.panel * element > 64)
    cut(work.panel / 2);
  step.how.threads = static_cast<int>(std::min<std::int64_t>(threads, work.units));
  made.threads = step.how.threads;
  made.programs.push_back({.repeat = {}, .begin = 0, .steps = {step}});
  return made;
}

struct rectangle {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t element;  // bytes
  [[nodiscard]] std::int64_t bytes() const noexcept { return rows * cols * element; }
};

// Builds one program, and the workspace that all its steps share.
class builder {
 public:
  builder(const request& wanted, const base::machine& machine) : wanted_(wanted), machine_(machine) {
    wanted_.kernel = {};
  }

  // Out of place.
  void move(const problem& what, in_place_step step) {
    step.how = choose(map::canonicalize(what), wanted_, machine_);
    if (step.to_workspace) {
      std::int64_t bytes = what.element_bytes;
      for (int k = 0; k < what.rank; ++k) bytes *= what.axes[k].extent;
      want(step.to + bytes);
    }
    push(step);
  }
  // rows x cols to cols x rows; leading dimensions in elements.
  void turn(const rectangle& one, std::int64_t src_ld, std::int64_t dst_ld, const in_place_step& step) {
    problem what{.element_bytes = one.element, .rank = 2};
    what.axes[0] = {one.rows, src_ld, 1};
    what.axes[1] = {one.cols, 1, dst_ld};
    move(what, step);
  }
  // `count` runs of bytes.
  void copy(std::int64_t bytes, const in_place_step& step, std::int64_t count = 1, std::int64_t src_stride = 0,
            std::int64_t dst_stride = 0) {
    problem what{.element_bytes = 1, .rank = 2};
    what.axes[0] = {count, src_stride, dst_stride};
    what.axes[1] = {bytes, 1, 1};
    move(what, step);
  }
  // Moves the array's rows from one distance to another, tasks that run side by side; see cycles.hpp.
  void pitch(std::int64_t rows, std::int64_t bytes, std::int64_t from, std::int64_t to) {
    in_place_step step{.how = {}, .from = taken_};
    step.how = forced_row("cpu_pitch", bytes_form());
    job& work = step.how.work;
    work.element_bytes = bytes;
    work.rows = {.axes = {}, .rank = 1, .total = rows};
    work.rows.axes[0] = {rows, from, to};
    step.how.threads = std::min(threads_for(2 * rows * bytes, wanted_, machine_), most_pitch_tasks);
    step.how.threads = static_cast<int>(std::min<std::int64_t>(step.how.threads, rows));
    work.units = step.how.threads;
    for (std::int64_t unit = 0; unit < work.units; ++unit) {
      const kernels::cpu::pitch_share share = kernels::cpu::share_of_pitch(work, unit);
      work.panel = std::max(work.panel, share.saved_to - share.saved_from);
    }
    for (std::int64_t unit = 0; unit < work.units; ++unit) {
      const kernels::cpu::pitch_share share = kernels::cpu::share_of_pitch(work, unit);
      if (share.saved_from == share.saved_to) continue;
      copy(share.saved_to - share.saved_from,
           {.to_workspace = true, .from = share.saved_from, .to = taken_ + unit * work.panel});
    }
    want(taken_ + work.units * work.panel);
    push(step);
  }
  // Items of the array; see job.hpp for what is turned.
  void cycles(std::int64_t rows, std::int64_t cols, std::int64_t bytes, bool turned_rows, bool turned_cols) {
    in_place_step step{.how = {}, .from = taken_};
    step.how = forced_row("cpu_cycles", bytes_form());
    job& work = step.how.work;
    work.element_bytes = bytes;
    work.rows.total = rows;
    work.cols.total = cols;
    work.turned_rows = turned_rows ? 1 : 0;
    work.turned_cols = turned_cols ? 1 : 0;
    const std::int64_t threads = threads_for(2 * rows * cols * bytes, wanted_, machine_);
    // Whole lines, where items have several for each task.
    work.panel = ceil_div(bytes, std::clamp<std::int64_t>(bytes / item_bytes, 1, threads));
    work.panel = std::min(ceil_div(work.panel, 64) * 64, bytes);
    work.units = ceil_div(bytes, work.panel);
    step.how.threads = static_cast<int>(std::min(threads, work.units));
    want(taken_ + work.units * kernels::cpu::cycles_workspace(work));
    push(step);
  }

  // The first `bytes` of the workspace hold something until the end.
  void take(std::int64_t bytes) { taken_ = ceil_div(bytes, 64) * 64; }
  [[nodiscard]] std::int64_t taken() const { return taken_; }
  [[nodiscard]] std::int64_t workspace() const { return workspace_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] std::vector<in_place_step> steps() { return std::move(steps_); }

 private:
  static map::canonical bytes_form() { return {}; }

  void want(std::int64_t bytes) { workspace_ = std::max(workspace_, bytes); }
  void push(const in_place_step& step) {
    threads_ = std::max(threads_, step.how.threads);
    steps_.push_back(step);
  }

  request wanted_;
  const base::machine& machine_;
  std::vector<in_place_step> steps_;
  std::int64_t workspace_ = 0;
  std::int64_t taken_ = 0;
  int threads_ = 1;
};

// How a side is cut: `strips` of `length`, and `rest` over.
struct cutting {
  std::int64_t strips = 0;  // 0: not at all
  std::int64_t length = 0;
  std::int64_t rest = 0;
  double cost = 1e300;  // passes over the array
};

cutting cut_side(std::int64_t extent, std::int64_t strips, std::int64_t element) noexcept {
  cutting best;
  if (extent < strips) return best;
  const auto cost = [element](std::int64_t length) {
    return static_cast<double>(item_bytes) / static_cast<double>(length * element);
  };
  best = {strips, extent / strips, extent % strips, 3 + cost(extent / strips)};
  for (std::int64_t s = strips; s <= std::min(extent, 4 * strips); ++s) {
    const std::int64_t rest = extent % s;
    const double passes = (rest == 0 ? 2 : 3) + cost(extent / s);
    // The rows that are over wait in the workspace, so the fewer the better.
    const bool better = rest == 0 ? best.rest > 0 || passes < best.cost : rest < best.rest && s < 2 * strips;
    if (better) best = {s, extent / s, rest, passes};
  }
  return best;
}

// 6, 8: strips of rows, then cycles
void rows_first(builder& make, const rectangle& all, const cutting& cut) {
  const std::int64_t whole = cut.strips * cut.length;
  const std::int64_t strip = cut.length * all.cols * all.element;
  const std::int64_t rest = cut.rest * all.cols * all.element;
  const rectangle one{cut.length, all.cols, all.element};
  if (rest > 0) {
    make.turn({cut.rest, all.cols, all.element}, all.cols, cut.rest,
              {.to_workspace = true, .from = cut.strips * strip});
    make.take(rest);
  }
  make.turn(one, all.cols, cut.length, {.to_workspace = true, .to = make.taken()});
  make.turn(one, all.cols, cut.length, {.from = strip, .times = cut.strips - 1, .advance = strip});
  make.copy(strip, {.from_workspace = true, .from = make.taken(), .to = (cut.strips - 1) * strip});
  make.cycles(cut.strips, all.cols, cut.length * all.element, true, false);
  if (rest == 0) return;
  make.pitch(all.cols, whole * all.element, whole * all.element, all.rows * all.element);
  make.copy(cut.rest * all.element, {.from_workspace = true, .to = whole * all.element}, all.cols,
            cut.rest * all.element, all.rows * all.element);
}

// 7, 9: the way back
void cols_last(builder& make, const rectangle& all, const cutting& cut) {
  const std::int64_t whole = cut.strips * cut.length;
  const std::int64_t strip = cut.length * all.rows * all.element;
  const std::int64_t rest = cut.rest * all.rows * all.element;
  const rectangle one{all.rows, cut.length, all.element};
  if (rest > 0) {
    make.turn({all.rows, cut.rest, all.element}, all.cols, all.rows,
              {.to_workspace = true, .from = whole * all.element});
    make.take(rest);
    make.pitch(all.rows, whole * all.element, all.cols * all.element, whole * all.element);
  }
  make.cycles(all.rows, cut.strips, cut.length * all.element, false, true);
  make.copy(strip, {.to_workspace = true, .to = make.taken()});
  make.turn(one, cut.length, all.rows, {.from = strip, .times = cut.strips - 1, .advance = strip});
  make.turn(one, cut.length, all.rows, {.from_workspace = true, .from = make.taken(), .to = (cut.strips - 1) * strip});
  if (rest > 0) make.copy(rest, {.from_workspace = true, .to = cut.strips * strip});
}

kernels::chain bytes_of(const axis* axes, int rank, std::int64_t word) noexcept {
  kernels::chain made;
  for (int k = 0; k < rank; ++k) {
    made.axes[made.rank++] = {axes[k].extent, axes[k].src_stride * word, axes[k].dst_stride * word};
    made.total *= axes[k].extent;
  }
  return made;
}

// 4: as many matrices at a time as the workspace takes, along the longest of the fixed axes.
void there_and_back(in_place_choice& made, const rectangle& all, const map::canonical& form,
                    const map::in_place_form& places, std::int64_t room, const request& wanted,
                    const base::machine& machine) {
  std::array<axis, map::max_axes> fixed = places.fixed;
  const auto end = fixed.begin() + places.fixed_count;
  axis batch{1, 0, 0};
  int rank = places.fixed_count;
  if (rank > 0) {
    const auto longest =
        std::max_element(fixed.begin(), end, [](const axis& a, const axis& b) { return a.extent < b.extent; });
    batch = *longest;
    std::rotate(longest, longest + 1, end);
    --rank;
  }
  const std::int64_t at_once = std::clamp<std::int64_t>(room / all.bytes(), 1, batch.extent);
  const std::int64_t batch_bytes = batch.src_stride * form.word_bytes;
  const auto add = [&](std::int64_t begin, std::int64_t count, std::int64_t repeats) {
    if (count == 0 || repeats == 0) return;
    builder make(wanted, machine);
    // The batch stride need be no multiple of an element, so it is counted in words.
    const std::int64_t words = all.element / form.word_bytes;
    problem what{.element_bytes = form.word_bytes, .rank = 4};
    what.axes[0] = {count, batch.src_stride, all.rows * all.cols * words};
    what.axes[1] = {all.rows, all.cols * words, words};
    what.axes[2] = {all.cols, words, all.rows * words};
    what.axes[3] = {words, 1, 1};
    make.move(what, {.to_workspace = true});
    make.copy(all.bytes(), {.from_workspace = true}, count, all.bytes(), batch_bytes);
    fixed[static_cast<std::size_t>(rank)] = {repeats, at_once * batch.src_stride, at_once * batch.dst_stride};
    made.programs.push_back(
        {.repeat = bytes_of(fixed.data(), rank + 1, form.word_bytes), .begin = begin * batch_bytes, .steps = {}});
    made.workspace_bytes = std::max(made.workspace_bytes, make.workspace());
    made.threads = std::max(made.threads, make.threads());
    made.programs.back().steps = make.steps();
  };
  const std::int64_t whole = batch.extent / at_once;
  add(0, at_once, whole);
  add(whole * at_once, batch.extent % at_once, 1);
  made.kernel = made.programs[0].steps[0].how.kernel;
}

in_place_choice turn_rectangle(const map::canonical& form, const map::in_place_form& places, const request& wanted,
                               const base::machine& machine) {
  in_place_choice made;
  const rectangle all{places.rows, places.cols, places.unit * form.word_bytes};
  const bool follow = wanted.kernel == "cpu_cycles";
  if (!wanted.kernel.empty() && !follow) return made;
  // What stays in the caches of the threads costs no second pass over memory.
  const std::int64_t cached = cached_limit_bytes(machine) * std::max(wanted.threads, 1);
  const std::int64_t room = std::max({all.bytes() / fewest_strips, cached, std::int64_t{1}});
  if (all.bytes() <= room && !follow) {
    made.line = 4;
    made.passes = 1;
    there_and_back(made, all, form, places, room, wanted, machine);
    return made;
  }
  builder make(wanted, machine);
  const std::int64_t strips = std::clamp<std::int64_t>(ceil_div(all.bytes(), room), 2, fewest_strips);
  const cutting rows = cut_side(all.rows, strips, all.element);
  const cutting cols = cut_side(all.cols, strips, all.element);
  made.kernel = kernels::find("cpu_cycles");
  if (all.element >= long_item_bytes || (rows.strips == 0 && cols.strips == 0)) {
    made.line = 5;
    made.passes = 1;
    make.cycles(all.rows, all.cols, all.element, false, false);
  } else {
    const bool by_rows = rows.cost <= cols.cost;
    const cutting& cut = by_rows ? rows : cols;
    made.line = (by_rows ? 6 : 7) + (cut.rest > 0 ? 2 : 0);
    made.passes = cut.rest > 0 ? 3 : 2;
    (by_rows ? rows_first : cols_last)(make, all, cut);
  }
  made.workspace_bytes = make.workspace();
  made.threads = make.threads();
  made.programs.push_back({.repeat = bytes_of(places.fixed.data(), places.fixed_count, form.word_bytes),
                           .begin = 0,
                           .steps = make.steps()});
  return made;
}

// Out of place, from a copy of all that the problem spans.
in_place_choice reference(const map::canonical& form, const base::machine& machine) {
  in_place_choice made;
  made.kernel = kernels::find("cpu_reference");
  const map::byte_span span = map::src_span(form);
  const std::int64_t begin = span.lo - form.src_offset * form.word_bytes;
  builder make({}, machine);
  make.copy(span.hi - span.lo, {.to_workspace = true, .from = begin});
  made.workspace_bytes = make.workspace();
  const in_place_step step{.how = forced_row("cpu_reference", form), .from_workspace = true, .from = -begin};
  made.programs.push_back({.repeat = {}, .begin = 0, .steps = make.steps()});
  made.programs[0].steps.push_back(step);
  made.passes = 2;
  return made;
}

}  // namespace

in_place_choice choose_in_place(const map::canonical& form, const map::in_place_form& places, const request& wanted,
                                const base::machine& machine) {
  in_place_choice made;
  if (places.kind == map::in_place_kind::nothing) {
    made.line = takes(wanted, "cpu_copy") || takes(wanted, "cpu_reference") ? 1 : 0;
    made.kernel = made.line == 0 ? nullptr : kernels::find(wanted.kernel.empty() ? "cpu_copy" : wanted.kernel);
  } else if (wanted.kernel == "cpu_reference") {
    made = reference(form, machine);
    made.reason = "asked for by name";
    return made;
  } else if (places.kind == map::in_place_kind::involution) {
    made = involution(form, places, wanted, machine);
  } else {
    made = turn_rectangle(form, places, wanted, machine);
  }
  made.reason = reasons[made.line];
  return made;
}

}  // namespace cornerturn::planning
