// Packed rectangles in place on a GPU. All strips of strip_program.hpp are one launch if a row accepts them.
#include "plan/rectangle_gpu.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/checked.hpp"
#include "plan/cutting.hpp"
#include "plan/round_trip.hpp"
#include "plan/strip_program.hpp"

namespace cornerturn::planning {
namespace {

constexpr const char* reasons[] = {
    "the rectangle is small: it is transposed out of place into the workspace and copied back",
    "elements are long: each follows its cycle without strips",
    "strips of rows are transposed out of place, each over one that was read; then their columns follow cycles",
    "rows of strips of columns follow cycles; then the strips are transposed out of place, each over one that was read",
};

// Arrays that are transposed into the workspace and copied back have at most so many bytes in one launch. A workspace may
// always have so many: with few strips there are few launches, and items are long. 151 random rectangles have 0.39 of a
// copy, with 16 MiB 0.33 and with 32 MiB 0.36 (H200, 2026-11-26).
constexpr std::int64_t small_bytes = 64 << 20;
// A walker of shorter items has too few bytes in flight. A flag of 4 bytes is nearly a hundredth of a shorter item.
constexpr std::int64_t long_item_bytes = 512;

// Builds programs. They share a workspace.
class builder {
 public:
  builder(gpu_rectangle& made, const kernels::target& on, int array_alignment, std::string_view forced)
      : made_(made), on_(on), forced_(forced), array_alignment_(array_alignment) {}

  // Adds steps that copy one problem out of place, from and to their own offsets; in one launch, if possible.
  void move(const problem& what, const std::vector<gpu_step>& steps) {
    std::int64_t bits = array_alignment_;
    for (const gpu_step& one : steps) bits |= one.from | one.to;
    const int alignment = alignment_of(bits, 16);
    if (steps.size() >= 2 && together(what, steps, alignment)) return;
    gpu_move added{.form = map::canonicalize(what, alignment), .chosen = {}};
    kernels::facts known = kernels::facts_of(added.form);
    known.alignment = alignment;
    added.chosen = choose(known, on_, {});
    add(added, steps);
  }

  // Adds the steps as one launch, if a row of strips accepts them. The steps are then the slowest axis of the problem.
  bool together(problem what, const std::vector<gpu_step>& steps, int alignment) {
    const gpu_step &first = steps[0], &last = steps.back();
    const std::int64_t from = steps[1].from - first.from, to = steps[1].to - first.to;
    for (std::size_t k = 1; k < steps.size(); ++k) {
      if (steps[k].from - steps[k - 1].from != from || steps[k].to - steps[k - 1].to != to) return false;
    }
    const bool backwards = from < 0;
    if (from % what.element_bytes != 0 || to % what.element_bytes != 0 || (to < 0) != backwards) return false;
    kernels::strip_steps strips{.count = static_cast<std::int64_t>(steps.size()),
                                .src_step_bytes = std::abs(from),
                                .dst_step_bytes = std::abs(to),
                                .backwards = backwards};
    const gpu_step& lowest = backwards ? last : first;
    strips.dst_begin_bytes = lowest.to - lowest.from;
    std::int64_t src_span = 1, dst_span = 1;
    for (int k = 0; k < what.rank; ++k) {
      src_span += (what.axes[k].extent - 1) * what.axes[k].src_stride;
      dst_span += (what.axes[k].extent - 1) * what.axes[k].dst_stride;
    }
    strips.src_span_bytes = src_span * what.element_bytes;
    strips.dst_span_bytes = dst_span * what.element_bytes;
    what.axes[what.rank++] = {strips.count, std::abs(from) / what.element_bytes, std::abs(to) / what.element_bytes};
    gpu_move added{.form = map::canonicalize(what, alignment), .chosen = {}};
    kernels::facts known = kernels::facts_of(added.form);
    known.alignment = alignment;
    known.strips = &strips;
    added.chosen = choose(known, on_, {.kind = kernels::row_kind::in_place});
    if (added.chosen.row == nullptr) return false;
    add(added, {lowest});
    return true;
  }

  // Adds the step of cycles. It fails if the forced row does not accept it.
  void follow(const kernels::item_cycles& items) {
    kernels::facts known;
    known.bytes = items.slots() * items.item_bytes;
    known.cycles = &items;
    gpu_move added;
    added.follows_cycles = true;
    added.writes_workspace = items.writes_workspace;
    added.workspace_bytes = items.count_in_workspace * items.item_bytes;
    added.chosen = choose(known, on_, {.kind = kernels::row_kind::in_place, .kernel = forced_});
    if (added.chosen.row == nullptr) return fail();
    // The workspace is src of this step even where the kernel writes it: see cycles_args.
    add(added,
        {gpu_step{
            .from_workspace = items.count_in_workspace > 0, .from = items.workspace_at, .flags_at = items.flags_at}});
  }

  void finish(const kernels::fused_axes& repeat, std::int64_t begin) {
    made_.programs.push_back({.repeat = repeat, .begin = begin, .steps = std::move(steps_)});
    steps_.clear();
  }
  void fail() { made_.kernel = nullptr, failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void add(const gpu_move& added, const std::vector<gpu_step>& steps) {
    if (added.chosen.row == nullptr) return fail();
    for (gpu_step one : steps) {
      one.move = static_cast<int>(made_.moves.size());
      steps_.push_back(one);
    }
    made_.moves.push_back(added);
  }

  gpu_rectangle& made_;
  kernels::target on_;
  std::string_view forced_;
  int array_alignment_;
  std::vector<gpu_step> steps_;
  bool failed_ = false;
};

}  // namespace

gpu_rectangle choose_rectangle(const map::canonical& form, const map::in_place_form& places, const kernels::target& on,
                               int alignment, std::string_view kernel) {
  gpu_rectangle made;
  const rectangle all{places.rows, places.cols, places.unit * form.word_bytes};
  const kernels::item_cycles elements{
      .item_bytes = all.element, .row_bytes = all.element, .inner = all.cols, .outer = all.rows};
  const bool forced = !kernel.empty();
  std::int64_t bits = alignment;
  for (int k = 0; k < places.fixed_count; ++k) bits |= places.fixed[k].src_stride * form.word_bytes;
  builder make(made, on, alignment_of(bits, 16), kernel);

  cutting cut;
  using enum rectangle_way;
  rectangle_way& way = made.way;
  if (all.bytes() > small_bytes || forced) {
    for (const std::int64_t share : {workspace_share, workspace_share / 2, std::int64_t{1}}) {
      if (cut.pieces > 0 || all.element >= long_item_bytes || (share == 1 && !forced)) break;
      std::int64_t most = all.bytes() / share;
      cutting_terms terms = of_gpu;
      if (all.bytes() > small_bytes) most = std::max(most, small_bytes), terms.fewest_pieces = 2;
      const cutting rows = cut_side(true, all.rows, all.cols, all.element, most, terms);
      const cutting cols = cut_side(false, all.cols, all.rows, all.element, most, terms);
      cut = rows.cost <= cols.cost ? rows : cols;
    }
    if (cut.pieces > 0) way = cut.by_rows ? row_strips : col_strips;
    if (cut.pieces == 0 && (all.element >= long_item_bytes || forced)) way = cycles;
  }
  made.passes = way == cycles ? 1 : 2;
  made.reason = reasons[static_cast<int>(way)];
  if (way == buffered) {
    round_trip pass(all, places.cols * places.unit, places.rows * places.unit, form, places);
    const std::int64_t at_once = std::clamp<std::int64_t>(small_bytes / all.bytes(), 1, pass.longest());
    pass.build(make, at_once);
    made.workspace_bytes = at_once * all.bytes();
  } else if (way == cycles) {
    make.follow(elements);
    made.workspace_bytes = 4 * kernels::flag_words(all.rows * all.cols * parts_of(all.element));
  } else {
    strip_program<builder>(all, cut).build(make);
    made.workspace_bytes = cut.workspace;
  }
  if (way != buffered) make.finish(bytes_of(places.fixed.data(), places.fixed_count, form.word_bytes), 0);
  made.workspace_bytes += workspace_alignment - 1;
  if (make.failed()) return {};
  made.kernel = made.moves[0].chosen.row;
  for (const gpu_move& one : made.moves) {
    if (one.follows_cycles) made.kernel = one.chosen.row;
  }
  return made;
}

}  // namespace cornerturn::planning
