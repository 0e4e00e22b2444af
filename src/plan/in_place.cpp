// The decision list of the CPU engine for problems whose src is their dst. The first line whose condition holds wins.
//   1  every element is where it belongs                                        nothing
//   2  pairs of places trade: words, columns side by side                       swap_b*
//   3  pairs of places trade: anything else                                     swap
//   4  rectangles that fit the workspace: there and back                        the out-of-place kernel and copy
//   5  rectangles of long items                                                 cycles
//   6  rows in strips: each is turned out of place into the room of the one     ... and cycles
//      before; columns of strips are items that follow cycles then: strips.hpp
//   7  columns in strips: the same backwards                                    cycles and ...
#include "plan/in_place.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/cpu/cycles.hpp"
#include "kernels/cpu/swap.hpp"
#include "plan/strips.hpp"
#include "plan/tuning.hpp"

namespace cornerturn::planning {
namespace {

// The flags of cutting.hpp's workspace are enough.
static_assert(kernels::cpu::cycle_part_bytes >= realigned_part_bytes);

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
};

// The workspace of a large rectangle is a twentieth of it, and a tenth of that for what waits there.
constexpr std::int64_t workspace_parts = 20;
constexpr std::int64_t least_room = 4096;
// Shorter elements are turned in strips, so that items are longer.
constexpr std::int64_t long_item_bytes = 1024;

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

  choice how = forced_row(made.kernel->name, form);
  job& work = how.work;
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
  how.threads = static_cast<int>(std::min<std::int64_t>(threads, work.units));
  made.threads = how.threads;
  made.moves.push_back(how);
  made.programs.push_back({.repeat = {}, .begin = 0, .steps = {in_place_step{}}});
  return made;
}

// Adds programs, and the workspace that all their steps share.
class builder {
 public:
  builder(in_place_choice& made, const request& wanted, const base::machine& machine)
      : made_(made), wanted_(wanted), machine_(machine) {
    wanted_.kernel = {};
  }

  // The same move out of place from and to one or more places, in order.
  void move(const problem& what, const std::vector<in_place_step>& steps) {
    std::int64_t bytes = what.element_bytes;
    for (int k = 0; k < what.rank; ++k) bytes *= what.axes[k].extent;
    for (const in_place_step& one : steps) {
      if (one.to_workspace) want(one.to + bytes);
    }
    add(choose(map::canonicalize(what), wanted_, machine_), steps);
  }
  // `count` runs of bytes.
  void copy(std::int64_t bytes, const in_place_step& step, std::int64_t count = 1, std::int64_t src_stride = 0,
            std::int64_t dst_stride = 0) {
    problem what{.element_bytes = 1, .rank = 2};
    what.axes[0] = {count, src_stride, dst_stride};
    what.axes[1] = {bytes, 1, 1};
    move(what, {step});
  }
  void follow(const kernels::item_cycles& items, std::int64_t item_bytes) {
    choice how = forced_row("cpu_cycles", {});
    how.work.element_bytes = item_bytes;
    how.work.cycles = items;
    how.threads = threads_for(2 * items.inner * items.outer * item_bytes, wanted_, machine_);
    how.work.units = how.threads;
    want(items.flags_at + kernels::cpu::cycle_flags_bytes(how.work) + 7);
    add(how, {in_place_step{}});
  }

  void finish(const kernels::chain& repeat, std::int64_t begin) {
    made_.programs.push_back({.repeat = repeat, .begin = begin, .steps = std::move(steps_)});
    steps_.clear();
  }

 private:
  void want(std::int64_t bytes) { made_.workspace_bytes = std::max(made_.workspace_bytes, bytes); }
  void add(const choice& how, const std::vector<in_place_step>& steps) {
    made_.threads = std::max(made_.threads, how.threads);
    for (in_place_step one : steps) {
      one.move = static_cast<int>(made_.moves.size());
      steps_.push_back(one);
    }
    made_.moves.push_back(how);
  }

  in_place_choice& made_;
  request wanted_;
  const base::machine& machine_;
  std::vector<in_place_step> steps_;
};

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
  builder make(made, wanted, machine);
  const auto add = [&](std::int64_t begin, std::int64_t count, std::int64_t repeats) {
    if (count == 0 || repeats == 0) return;
    // The batch stride need be no multiple of an element, so it is counted in words.
    const std::int64_t words = all.element / form.word_bytes;
    problem what{.element_bytes = form.word_bytes, .rank = 4};
    what.axes[0] = {count, batch.src_stride, all.rows * all.cols * words};
    what.axes[1] = {all.rows, all.cols * words, words};
    what.axes[2] = {all.cols, words, all.rows * words};
    what.axes[3] = {words, 1, 1};
    make.move(what, {in_place_step{.to_workspace = true}});
    make.copy(all.bytes(), {.from_workspace = true}, count, all.bytes(), batch_bytes);
    fixed[static_cast<std::size_t>(rank)] = {repeats, at_once * batch.src_stride, at_once * batch.dst_stride};
    make.finish(bytes_of(fixed.data(), rank + 1, form.word_bytes), begin * batch_bytes);
  };
  const std::int64_t whole = batch.extent / at_once;
  add(0, at_once, whole);
  add(whole * at_once, batch.extent % at_once, 1);
  made.kernel = made.moves[0].kernel;
}

in_place_choice turn_rectangle(const map::canonical& form, const map::in_place_form& places, const request& wanted,
                               const base::machine& machine) {
  in_place_choice made;
  const rectangle all{places.rows, places.cols, places.unit * form.word_bytes};
  const bool follow = wanted.kernel == "cpu_cycles";
  if (!wanted.kernel.empty() && !follow) return made;
  // What stays in the caches of the threads costs no second pass over memory.
  const std::int64_t cached = cached_limit_bytes(machine) * std::max(wanted.threads, 1);
  const std::int64_t room = std::max({all.bytes() / workspace_parts, cached, least_room});
  if (all.bytes() <= room && !follow) {
    made.line = 4;
    made.passes = 1;
    there_and_back(made, all, form, places, room, wanted, machine);
    return made;
  }
  cutting cut;
  if (all.element < long_item_bytes) {
    const cutting_terms terms{std::clamp<std::int64_t>(ceil_div(all.bytes(), room), 2, workspace_parts), INT64_MAX,
                              passes_of_cpu};
    const std::int64_t most = room + room / 10;
    const cutting rows = cut_side(true, all.rows, all.cols, all.element, most, terms);
    const cutting cols = cut_side(false, all.cols, all.rows, all.element, most, terms);
    cut = rows.cost <= cols.cost ? rows : cols;
  }
  builder make(made, wanted, machine);
  made.kernel = kernels::find("cpu_cycles");
  made.line = cut.pieces == 0 ? 5 : cut.by_rows ? 6 : 7;
  made.passes = cut.pieces == 0 ? 1 : 2;
  if (cut.pieces == 0) {
    make.follow({.row_bytes = all.element, .inner = all.cols, .outer = all.rows}, all.element);
  } else {
    strips<builder>(all, cut).build(make);
  }
  make.finish(bytes_of(places.fixed.data(), places.fixed_count, form.word_bytes), 0);
  return made;
}

// Out of place, from a copy of all that the problem spans.
in_place_choice reference(const map::canonical& form, const base::machine& machine) {
  in_place_choice made;
  made.kernel = kernels::find("cpu_reference");
  const map::byte_span span = map::src_span(form);
  const std::int64_t begin = span.lo - form.src_offset * form.word_bytes;
  builder make(made, {}, machine);
  make.copy(span.hi - span.lo, {.to_workspace = true, .from = begin});
  make.finish({}, 0);
  made.programs[0].steps.push_back({.move = 1, .from_workspace = true, .from = -begin});
  made.moves.push_back(forced_row("cpu_reference", form));
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
