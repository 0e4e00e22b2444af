// Programs for problems whose src is also their dst. choose() picks the kernel of each move of a program.
//   swapped     pairs of elements are swapped: the cheapest row that swaps
//   buffered    a rectangle that fits the workspace, or a batch of small squares: as many of them as fit are transposed out
//               of place and copied back
//   cycles      a rectangle of long items, which follow their cycles
//   row_strips  strips of rows are transposed out of place, each over a strip that was read before. Then columns of strips
//               follow cycles: strip_program.hpp
//   col_strips  the inverse steps in the opposite order: rows of strips of columns follow cycles, then the strips are
//               transposed
#include "plan/in_place_cpu.hpp"

#include <algorithm>
#include <string_view>

#include "base/checked.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/cpu/split.hpp"
#include "plan/round_trip.hpp"
#include "plan/strip_program.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using kernels::cpu::costs_of;

const char* reason_of(in_place_way way) noexcept {
  switch (way) {
    case in_place_way::nothing:
      return "every element is where it belongs";
    case in_place_way::buffered:
      return "matrices fit the workspace: they are transposed out of place and copied back";
    case in_place_way::cycles:
      return "the elements are so long that each follows its cycle at once";
    case in_place_way::row_strips:
      return "strips of rows are transposed out of place, each over one that was read; then their columns "
             "follow cycles";
    case in_place_way::col_strips:
      return "rows of strips of columns follow cycles; then the strips are transposed out of place, each over one that "
             "was read";
    case in_place_way::reference:
      return "asked for by name";
    default:
      return "";
  }
}

// The workspace of a large rectangle is a twentieth of its size, plus a tenth of the workspace for the staged columns.
constexpr std::int64_t workspace_parts = 20;
constexpr std::int64_t least_room = 4096;
// A workspace of so many bytes stays in L2, with the part of the array that is copied.
std::int64_t near_bytes(const base::machine& machine) noexcept { return machine.l2_bytes / 2; }
// Shorter elements are transposed in strips, so that the items that follow cycles are longer.
constexpr std::int64_t long_item_bytes = 1024;

in_place_choice swapped(const map::canonical& form, const map::in_place_form& places, const cpu_request& wanted,
                        const base::machine& machine) {
  in_place_choice made;
  const kernels::offer best =
      choose(form, {.threads = wanted.threads, .kernel = wanted.kernel, .in_place = &places}, machine);
  made.kernel = best.row;
  if (made.kernel == nullptr) return made;
  made.way = in_place_way::swapped;
  made.reason = best.reason;
  made.time = best.time;
  made.passes = 1;
  made.threads = best.threads;
  made.moves.push_back(best);
  made.programs.push_back({.repeat = {}, .begin = 0, .steps = {in_place_step{}}});
  return made;
}

// Adds programs, and the workspace that all their steps share.
class builder {
 public:
  builder(in_place_choice& made, const cpu_request& wanted, const base::machine& machine)
      : made_(made), wanted_(wanted), machine_(machine) {
    wanted_.kernel = {};
  }

  // Adds one out-of-place problem and its steps, in order: each step has its own offsets in src and in dst.
  void move(const problem& what, const std::vector<in_place_step>& steps) {
    std::int64_t bytes = what.element_bytes;
    for (int k = 0; k < what.rank; ++k) bytes *= what.axes[k].extent;
    for (const in_place_step& one : steps) {
      if (one.to_workspace) want(one.to + bytes);
    }
    add(choose(map::canonicalize(what), wanted_, machine_), steps);
  }
  // Adds a copy of `count` runs of `bytes` bytes.
  void copy(std::int64_t bytes, const in_place_step& step, std::int64_t count = 1, std::int64_t src_stride = 0,
            std::int64_t dst_stride = 0) {
    problem what{.element_bytes = 1, .rank = 2};
    what.axes[0] = {count, src_stride, dst_stride};
    what.axes[1] = {bytes, 1, 1};
    move(what, {step});
  }
  void follow(const kernels::item_cycles& items) {
    const kernels::offer how = choose({}, {.threads = wanted_.threads, .cycles = &items}, machine_);
    want(items.flags_at + how.flag_bytes + 7);
    add(how, {in_place_step{.flags_at = items.flags_at, .flags_bytes = how.flag_bytes}});
  }

  void finish(const kernels::fused_axes& repeat, std::int64_t begin, int threads = 1) {
    threads = static_cast<int>(std::min<std::int64_t>(threads, repeat.total));
    in_place_program program{.repeat = repeat, .begin = begin, .steps = std::move(steps_), .threads = threads};
    program.workspace_bytes = ceil_div(step_bytes_, page_bytes) * page_bytes;
    made_.threads = std::max(made_.threads, threads);
    made_.workspace_bytes = std::max(made_.workspace_bytes, (threads - 1) * program.workspace_bytes + step_bytes_);
    made_.programs.push_back(std::move(program));
    steps_.clear();
    step_bytes_ = 0;
  }

 private:
  static constexpr std::int64_t page_bytes = 4096;  // threads apart write to pages of their own

  void want(std::int64_t bytes) { step_bytes_ = std::max(step_bytes_, bytes); }
  void add(const kernels::offer& how, const std::vector<in_place_step>& steps) {
    made_.threads = std::max(made_.threads, how.threads);
    for (in_place_step one : steps) {
      one.move = static_cast<int>(made_.moves.size());
      steps_.push_back(one);
    }
    made_.moves.push_back(how);
  }

  in_place_choice& made_;
  cpu_request wanted_;
  const base::machine& machine_;
  std::vector<in_place_step> steps_;
  std::int64_t step_bytes_ = 0;  // of workspace, for the steps
};

// As many matrices at a time as the workspace takes, along the longest of the fixed axes. If there are enough of them, each
// thread takes its own: 60000 x 8 x 8 float32 as fast with two threads as with one if they share each step.
// Shape   src and dst rows are src_pitch and dst_pitch words apart
void buffered(in_place_choice& made, const rectangle& all, std::int64_t src_pitch, std::int64_t dst_pitch,
              const map::canonical& form, const map::in_place_form& places, cpu_request wanted,
              const base::machine& machine) {
  round_trip pass(all, src_pitch, dst_pitch, form, places);
  const std::int64_t matrices = pass.matrices();
  const int threads = kernels::cpu::threads_for(2 * matrices * all.bytes(), wanted.threads, costs_of(machine));
  const bool apart = threads > 1 && all.bytes() <= near_bytes(machine) && matrices >= 4 * threads;
  if (apart) wanted.threads = 1;
  const std::int64_t room = std::max({all.bytes(), near_bytes(machine) * std::max(wanted.threads, 1), least_room});
  std::int64_t at_once = std::clamp<std::int64_t>(room / all.bytes(), 1, pass.longest());
  if (apart) at_once = std::min(at_once, ceil_div(pass.longest(), threads));
  builder make(made, wanted, machine);
  pass.build(make, at_once, apart ? threads : 1);
  made.kernel = made.moves[0].row;
  made.way = in_place_way::buffered;
  made.passes = 1;
}

// True for a batch of squares with so short rows that the rows of tiles for swaps would be pieces of lines. 24e6 bytes of
// float32 8 x 8: swapped 0.26 of a copy, through a buffer 0.70; 16 x 16: 0.64 and 0.65; 24 x 24: 0.84 and 0.58. Of 24 bytes
// 6 x 6: 0.50 and 0.76 (Zen 4, 2026-11-25).
bool has_small_squares(const map::in_place_form& places, std::int64_t word) noexcept {
  const axis& side = places.pairs[0];
  const std::int64_t element = places.unit * word;
  return places.pair_count == 1 && places.fixed_count > 0 && side.src_stride > 0 && side.dst_stride == places.unit &&
         element <= 32 && side.extent * element < 48 + 8 * element;
}

in_place_choice small_squares(const map::canonical& form, const map::in_place_form& places, const cpu_request& wanted,
                              const base::machine& machine) {
  in_place_choice made;
  const axis& side = places.pairs[0];
  const rectangle all{side.extent, side.extent, places.unit * form.word_bytes};
  buffered(made, all, side.src_stride, side.src_stride, form, places, wanted, machine);
  return made;
}

in_place_choice rectangle_of(const map::canonical& form, const map::in_place_form& places, const cpu_request& wanted,
                             const base::machine& machine) {
  in_place_choice made;
  const rectangle all{places.rows, places.cols, places.unit * form.word_bytes};
  const kernels::item_cycles elements{
      .item_bytes = all.element, .row_bytes = all.element, .inner = all.cols, .outer = all.rows};
  const kernels::kernel* const follows = choose({}, {.kernel = wanted.kernel, .cycles = &elements}, machine).row;
  const bool follow = !wanted.kernel.empty();  // by the row that was asked for
  if (follows == nullptr) return made;
  // A rectangle that fits the caches of the threads may be copied back without a second pass over memory.
  const std::int64_t cached = near_bytes(machine) * std::max(wanted.threads, 1);
  const std::int64_t room = std::max({all.bytes() / workspace_parts, cached, least_room});
  if (all.bytes() <= room && !follow) {
    buffered(made, all, places.cols * places.unit, places.rows * places.unit, form, places, wanted, machine);
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
  made.kernel = follows;
  made.way = cut.pieces == 0 ? in_place_way::cycles : cut.by_rows ? in_place_way::row_strips : in_place_way::col_strips;
  made.passes = cut.pieces == 0 ? 1 : 2;
  if (cut.pieces == 0) {
    make.follow(elements);
  } else {
    strip_program<builder>(all, cut).build(make);
  }
  make.finish(bytes_of(places.fixed.data(), places.fixed_count, form.word_bytes), 0);
  return made;
}

// Out of place, from a copy of all that the problem spans.
in_place_choice reference(const map::canonical& form, const kernels::kernel& oracle, const base::machine& machine) {
  in_place_choice made;
  made.kernel = &oracle;
  const map::byte_span span = map::src_span(form);
  const std::int64_t begin = span.lo - form.src_offset * form.word_bytes;
  builder make(made, {}, machine);
  make.copy(span.hi - span.lo, {.to_workspace = true, .from = begin});
  make.finish({}, 0);
  made.programs[0].steps.push_back({.move = 1, .from_workspace = true, .from = -begin});
  made.moves.push_back(choose(form, {.kernel = oracle.name}, machine));
  made.way = in_place_way::reference;
  made.passes = 2;
  return made;
}

}  // namespace

const kernels::offer* in_place_choice::only_step() const noexcept {
  if (programs.size() != 1 || workspace_bytes != 0) return nullptr;
  const in_place_program& program = programs.front();
  if (program.repeat.total != 1 || program.steps.size() != 1) return nullptr;
  const in_place_step& step = program.steps.front();
  return step.from == 0 && step.to == 0 ? &moves[static_cast<std::size_t>(step.move)] : nullptr;
}

in_place_choice choose_in_place(const map::canonical& form, const map::in_place_form& places, const cpu_request& wanted,
                                const base::machine& machine) {
  in_place_choice made;
  const kernels::kernel* const forced = kernels::find(wanted.kernel);
  if (places.kind == map::in_place_kind::nothing) {  // by the row for a problem without elements
    map::canonical none;
    none.empty = true;
    made.kernel = choose(none, {.kernel = wanted.kernel}, machine).row;
    if (made.kernel == nullptr) return made;
    made.way = in_place_way::nothing;
  } else if (forced != nullptr && forced->is_oracle && forced->kind == kernels::row_kind::move) {
    made = reference(form, *forced, machine);
  } else if (places.kind == map::in_place_kind::involution) {
    if (!wanted.kernel.empty() || !has_small_squares(places, form.word_bytes))
      return swapped(form, places, wanted, machine);
    made = small_squares(form, places, wanted, machine);
  } else {
    made = rectangle_of(form, places, wanted, machine);
  }
  made.reason = reason_of(made.way);
  made.time = made.passes * 1.5;
  return made;
}

}  // namespace cornerturn::planning
