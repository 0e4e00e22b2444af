// Packed rectangles in place on a GPU: lines 4 to 7 of in_place_gpu.cpp. What is written is never to be read, so no
// launch waits for anything but the one before. A program by rows, M pieces of a rows each and r over; n columns, s of
// them over:
//   1. the s columns, and the r rows of the others, are turned into the workspace
//   2. strips of a rows are turned out of place, each into the room of the one behind it, whose own has moved before;
//   the
//      last one begins, and waits in the workspace. Columns of strips are items of a elements now, and lie where items
//      of the result lie: M of them, a gap of r elements, M more, and so on
//                      result  |0a|0b|0c|r||1a|1b|1c|r||2a|2b|2c|r|     strips a, b, c of columns 0, 1, 2
//                     between  |0c|1c|2c| ||0a|1a|2a| ||0b|1b|2b| |
//   3. items follow cycles
//   4. what waited in the workspace is copied: r elements to each gap, and the s columns as rows to the end
// With many columns over, and few rows, room grows faster at the other end: then the strips go the other way.
// By columns: the same backwards, every move the other way round.
#include "plan/rectangle_gpu.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;

constexpr const char* reasons[] = {
    "",
    "",
    "",
    "",
    "the rectangle is small: it is turned out of place into the workspace and copied back",
    "the elements are so long that each follows its cycle at once",
    "strips of rows are turned out of place, each into the room of the one behind it; then their columns follow cycles",
    "rows of strips of columns follow cycles; then the strips are turned out of place, each into room before it",
};

// Of arrays that go to the workspace and back, together: they stay in L2 on the way.
constexpr std::int64_t small_bytes = 16 << 20;
// The workspace is at most a share of a larger array, so there are more strips than that.
constexpr std::int64_t workspace_share = 20;
constexpr std::int64_t fewest_pieces = workspace_share + 1;
constexpr std::int64_t most_pieces = 64;
// A walker of shorter items has too few bytes on its way; a flag is then more than a hundredth of an item.
constexpr std::int64_t long_item_bytes = 512;
// A launch takes as long as so many bytes of the array take to be moved once: 2 us of an H200.
constexpr double launch_bytes = 4e6;
constexpr int walkers_per_multiprocessor = 32;  // as many blocks as fit on Hopper

struct rectangle {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t element;  // bytes
  [[nodiscard]] std::int64_t bytes() const noexcept { return rows * cols * element; }
};

std::int64_t round_up(std::int64_t bytes) noexcept {
  return ceil_div(bytes, workspace_alignment) * workspace_alignment;
}

int alignment_of(std::int64_t bits, int most) noexcept {
  return static_cast<int>(std::min<std::int64_t>(bits == 0 ? most : bits & -bits, most));
}

// Realigned items have a word that is cut at either end.
constexpr std::int64_t realigned_part_bytes = gpu::cycles_part_bytes - 64;
std::int64_t parts_of(std::int64_t item) noexcept { return ceil_div(item, realigned_part_bytes); }  // at most

// How a side is cut, and how the other one is: pieces * length + rest, kept + over. Kept columns fill rows of places.
struct cutting {
  bool by_rows = true;
  std::int64_t pieces = 0;  // 0: not at all
  std::int64_t length = 0;
  std::int64_t rest = 0;
  std::int64_t kept = 0;
  std::int64_t over = 0;
  std::int64_t workspace = 0;
  double cost = 1e300;  // passes over the array at the speed of a copy, about
};

struct waiting {
  std::int64_t rest_at, strip_at, bytes;
};
// Where in the workspace things wait: the columns over, the rows that rest, and then one strip, or flags.
waiting workspace_of(const cutting& cut, std::int64_t element) noexcept {
  const std::int64_t side = cut.pieces * cut.length + cut.rest;
  waiting made{};
  made.rest_at = round_up(cut.over * side * element);
  made.strip_at = made.rest_at + round_up(cut.rest * cut.kept * element);
  const std::int64_t item = cut.length * element;
  made.bytes = made.strip_at + std::max(cut.kept * item, 4 * cut.kept * cut.pieces * parts_of(item));
  return made;
}

double cost_of(const cutting& cut, std::int64_t element) noexcept {
  const auto share = [](std::int64_t part, std::int64_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  const std::int64_t side = cut.pieces * cut.length + cut.rest, other = cut.kept + cut.over;
  const std::int64_t item = cut.length * element;
  const int word = alignment_of(item | side * element, 16);
  const double turned = word == 16 ? 1.1 : 1.2;  // the out-of-place kernels' own shares of a copy
  const double followed = 1.1 + 200 / static_cast<double>(item) + (word >= 8 ? 0 : word == 4 ? 0.1 : 0.5);
  const double waited = 4 * (share(cut.rest, side) + share(cut.over, other));
  const double bytes = static_cast<double>(side) * static_cast<double>(other) * static_cast<double>(element);
  return turned + followed + waited + static_cast<double>(cut.pieces) * launch_bytes / bytes;
}

// The cheapest one whose workspace has at most so many bytes. A rest costs little, so lengths are cut to whole chunks.
cutting cut_side(bool by_rows, std::int64_t side, std::int64_t other, std::int64_t element,
                 std::int64_t most_bytes) noexcept {
  cutting best;
  const std::int64_t chunk = 16 / std::min<std::int64_t>(element & -element, 16);
  for (std::int64_t pieces = fewest_pieces; pieces <= std::min(most_pieces, side); ++pieces) {
    const std::int64_t longest = side / pieces;
    for (const std::int64_t length : {longest, longest / chunk * chunk, longest / (8 * chunk) * 8 * chunk}) {
      if (length == 0) continue;
      cutting made{.by_rows = by_rows, .pieces = pieces, .length = length, .rest = side - pieces * length};
      // A strip's items fill whole rows of places, or a row of places holds whole strips. Without gaps both are one.
      const bool fits = made.rest == 0 || pieces % other == 0;
      made.over = fits ? 0 : other % pieces;
      made.kept = other - made.over;
      if (made.kept == 0 || made.kept >= INT32_MAX / pieces / parts_of(length * element)) continue;
      made.workspace = workspace_of(made, element).bytes;
      made.cost = cost_of(made, element);
      if (made.workspace <= most_bytes && made.cost < best.cost) best = made;
    }
  }
  return best;
}

// Builds programs, and the workspace that they share.
class builder {
 public:
  builder(gpu_rectangle& made, const gpu_request& wanted, const gpu_tuning& tuned, int array_alignment)
      : made_(made), wanted_(wanted), tuned_(tuned), array_alignment_(array_alignment) {
    wanted_.kernel = {};
  }

  // The same move out of place from and to one or more places.
  void move(const problem& what, const std::vector<gpu_step>& steps) {
    std::int64_t bits = array_alignment_;
    for (const gpu_step& one : steps) bits |= one.from | one.to;
    gpu_request wanted = wanted_;
    wanted.alignment = alignment_of(bits, 16);
    gpu_move added{.form = map::canonicalize(what, wanted.alignment), .chosen = {}};
    added.chosen = choose(added.form, wanted, tuned_);
    add(added, steps);
  }

  // The row for items of these bytes, or the forced one; null: it cannot move them.
  [[nodiscard]] const kernels::kernel* row_for(std::int64_t bits, std::string_view forced) const noexcept {
    const int word = alignment_of(bits | array_alignment_, 16);
    const kernels::kernel* best = nullptr;
    for (const kernels::kernel& row : kernels::all()) {
      if (row.launch == nullptr || row.family != std::string_view("cycles") || row.element_bytes > word) continue;
      if (forced.empty() ? best == nullptr || row.element_bytes > best->element_bytes : row.name == forced) best = &row;
    }
    return best;
  }

  // Fills what the row, the items and the device say of a job of cycles.
  void cycles(const kernels::kernel* row, gpu::cycles_job job, std::int64_t places, std::int64_t flags_at) {
    if (row == nullptr) return fail();
    const std::int64_t most = row->element_bytes == 1 ? realigned_part_bytes : gpu::cycles_part_bytes;
    const std::int64_t parts = ceil_div(job.item_bytes, most);
    const std::int64_t part = std::min(ceil_div(ceil_div(job.item_bytes, parts), 64) * 64, job.item_bytes);
    if (places >= INT32_MAX / parts) return fail();
    job.part_bytes = static_cast<std::int32_t>(part);
    job.parts = map::fast_divisor(static_cast<std::uint32_t>(ceil_div(job.item_bytes, part)));
    job.count = static_cast<std::uint32_t>(places * job.parts.divisor);
    job.walkers = std::min(job.count, static_cast<std::uint32_t>(wanted_.multiprocessors * walkers_per_multiprocessor));
    gpu_move added;
    added.chosen = {.kernel = row, .job = job, .blocks = job.walkers, .shared_bytes = gpu::cycles_shared_bytes};
    add(added, {gpu_step{.from = flags_at}});
  }

  void finish(const kernels::chain& repeat, std::int64_t begin) {
    made_.programs.push_back({.repeat = repeat, .begin = begin, .steps = std::move(steps_)});
    steps_.clear();
  }
  void fail() { made_.kernel = nullptr, failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void add(const gpu_move& added, const std::vector<gpu_step>& steps) {
    if (added.chosen.kernel == nullptr) return fail();
    for (gpu_step one : steps) {
      one.move = static_cast<int>(made_.moves.size());
      steps_.push_back(one);
    }
    made_.moves.push_back(added);
  }

  gpu_rectangle& made_;
  gpu_request wanted_;
  const gpu_tuning& tuned_;
  int array_alignment_;
  std::vector<gpu_step> steps_;
  bool failed_ = false;
};

// 6, 7: moves as by rows; backwards they are the other way round, last one first.
class strips {
 public:
  strips(const rectangle& all, const cutting& cut)
      : cut_(cut),
        element_(all.element),
        side_(cut.by_rows ? all.rows : all.cols),
        other_(cut.by_rows ? all.cols : all.rows),
        in_(workspace_of(cut, all.element)),
        single_(cut.rest == 0 || cut.kept < cut.pieces),
        up_(cut.rest * (cut.kept / cut.pieces) < cut.over * cut.length) {}

  void build(builder& make, std::string_view forced) const {
    const std::array<void (strips::*)(builder&) const, 5> before = {
        &strips::columns_over, &strips::rows_over, &strips::first_strip, &strips::other_strips, &strips::first_place};
    const std::array<void (strips::*)(builder&) const, 2> behind = {&strips::fill_gaps, &strips::last_rows};
    if (cut_.by_rows) {
      for (const auto one : before) (this->*one)(make);
      follow(make, forced);
      for (const auto one : behind) (this->*one)(make);
    } else {
      for (std::size_t k = behind.size(); k-- > 0;) (this->*behind[k])(make);
      follow(make, forced);
      for (std::size_t k = before.size(); k-- > 0;) (this->*before[k])(make);
    }
  }

 private:
  // 1.
  void columns_over(builder& make) const {
    give(make, {{cut_.over, 1, side_}, {side_, other_, 1}}, {{.to_workspace = true, .from = cut_.kept * element_}});
  }
  void rows_over(builder& make) const {
    give(make, {{cut_.kept, 1, cut_.rest}, {cut_.rest, other_, 1}},
         {{.to_workspace = true, .from = strip(cut_.pieces), .to = in_.rest_at}});
  }
  // 2.
  void first_strip(builder& make) const {
    give(make, {{cut_.kept, 1, cut_.length}, {cut_.length, other_, 1}},
         {{.to_workspace = true, .from = strip(up_ ? 0 : cut_.pieces - 1), .to = in_.strip_at}});
  }
  void other_strips(builder& make) const {
    std::vector<gpu_step> steps;
    for (std::int64_t k = 1; k < cut_.pieces; ++k) {
      const std::int64_t from = up_ ? k : cut_.pieces - 1 - k;
      steps.push_back({.from = strip(from), .to = room(up_ ? from - 1 : from + 1)});
    }
    if (!cut_.by_rows) std::reverse(steps.begin(), steps.end());
    if (single_) {
      give(make, {{cut_.kept, 1, cut_.length}, {cut_.length, other_, 1}}, steps);
    } else {
      give(make,
           {{cut_.kept / cut_.pieces, cut_.pieces, side_}, {cut_.pieces, 1, cut_.length}, {cut_.length, other_, 1}},
           steps);
    }
  }
  void first_place(builder& make) const {
    const gpu_step step{.from_workspace = true, .from = in_.strip_at, .to = room(up_ ? cut_.pieces - 1 : 0)};
    const std::int64_t row = cut_.pieces * cut_.length;
    if (single_) return give(make, {{cut_.kept * cut_.length, 1, 1}}, {step});
    give(make, {{cut_.kept / cut_.pieces, row, side_}, {row, 1, 1}}, {step});
  }
  // 3.
  void follow(builder& make, std::string_view forced) const {
    gpu::cycles_job job;
    job.row_bytes = side_ * element_;
    job.item_bytes = cut_.length * element_;
    job.row_places = map::fast_divisor(static_cast<std::uint32_t>(cut_.pieces));
    const auto pieces = static_cast<std::uint32_t>(cut_.pieces), kept = static_cast<std::uint32_t>(cut_.kept);
    job.inner = map::fast_divisor(cut_.by_rows ? kept : pieces);
    job.outer = cut_.by_rows ? pieces : kept;
    if (cut_.by_rows) job.turned_outer = up_ ? 1 : pieces - 1;
    if (!cut_.by_rows) job.turned_inner = up_ ? pieces - 1 : 1;
    make.cycles(make.row_for(job.row_bytes | job.item_bytes, forced), job, cut_.kept * cut_.pieces, in_.strip_at);
  }
  // 4.
  void fill_gaps(builder& make) const {
    give(make, {{cut_.kept, cut_.rest, side_}, {cut_.rest, 1, 1}},
         {{.from_workspace = true, .from = in_.rest_at, .to = cut_.pieces * cut_.length * element_}});
  }
  void last_rows(builder& make) const {
    give(make, {{cut_.over * side_, 1, 1}}, {{.from_workspace = true, .to = cut_.kept * side_ * element_}});
  }

  [[nodiscard]] std::int64_t strip(std::int64_t k) const { return k * cut_.length * other_ * element_; }
  // Where the places that strip k's items take begin: strip 0's first.
  [[nodiscard]] std::int64_t room(std::int64_t k) const {
    const std::int64_t place = k * cut_.kept;
    return (place / cut_.pieces * side_ + place % cut_.pieces * cut_.length) * element_;
  }
  void give(builder& make, std::initializer_list<axis> axes, std::vector<gpu_step> steps) const {
    problem what{.element_bytes = element_, .rank = 0};
    for (const axis& one : axes) {
      if (one.extent == 0) return;
      what.axes[what.rank++] = cut_.by_rows ? one : axis{one.extent, one.dst_stride, one.src_stride};
    }
    for (gpu_step& one : steps) {
      if (cut_.by_rows) continue;
      std::swap(one.from, one.to);
      std::swap(one.from_workspace, one.to_workspace);
    }
    make.move(what, steps);
  }

  cutting cut_;
  std::int64_t element_, side_, other_;
  waiting in_;
  bool single_;  // the places of a strip lie end to end
  bool up_;      // each strip goes to the room of the one before it, the first one begins
};

kernels::chain bytes_of(const axis* axes, int rank, std::int64_t word) noexcept {
  kernels::chain made;
  for (int k = 0; k < rank; ++k) {
    made.axes[made.rank++] = {axes[k].extent, axes[k].src_stride * word, axes[k].dst_stride * word};
    made.total *= axes[k].extent;
  }
  return made;
}

// 4: as many of them at a time as the workspace takes, along the longest of the fixed axes.
std::int64_t there_and_back(builder& make, const rectangle& all, const map::canonical& form,
                            const map::in_place_form& places) {
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
  const std::int64_t at_once = std::clamp<std::int64_t>(small_bytes / all.bytes(), 1, batch.extent);
  const auto add = [&](std::int64_t begin, std::int64_t count, std::int64_t repeats) {
    if (count == 0 || repeats == 0) return;
    // The batch stride need be no multiple of an element, so it is counted in words.
    const std::int64_t words = all.element / form.word_bytes, size = all.rows * all.cols * words;
    problem turn{.element_bytes = form.word_bytes, .rank = 4};
    turn.axes[0] = {count, batch.src_stride, size};
    turn.axes[1] = {all.rows, all.cols * words, words};
    turn.axes[2] = {all.cols, words, all.rows * words};
    turn.axes[3] = {words, 1, 1};
    make.move(turn, {gpu_step{.to_workspace = true}});
    problem back{.element_bytes = form.word_bytes, .rank = 2};
    back.axes[0] = {count, size, batch.src_stride};
    back.axes[1] = {size, 1, 1};
    make.move(back, {gpu_step{.from_workspace = true}});
    fixed[static_cast<std::size_t>(rank)] = {repeats, at_once * batch.src_stride, at_once * batch.dst_stride};
    make.finish(bytes_of(fixed.data(), rank + 1, form.word_bytes), begin * batch.src_stride * form.word_bytes);
  };
  const std::int64_t whole = batch.extent / at_once;
  add(0, at_once, whole);
  add(whole * at_once, batch.extent % at_once, 1);
  return at_once * all.bytes();
}

}  // namespace

gpu_rectangle choose_rectangle(const map::canonical& form, const map::in_place_form& places, const gpu_request& wanted,
                               const gpu_tuning& tuned) {
  gpu_rectangle made;
  const rectangle all{places.rows, places.cols, places.unit * form.word_bytes};
  const kernels::kernel* const forced = wanted.kernel.empty() ? nullptr : kernels::find(wanted.kernel);
  if (!wanted.kernel.empty() &&
      (forced == nullptr || forced->launch == nullptr || forced->family != std::string_view("cycles"))) {
    return made;
  }
  std::int64_t bits = wanted.alignment;
  for (int k = 0; k < places.fixed_count; ++k) bits |= places.fixed[k].src_stride * form.word_bytes;
  builder make(made, wanted, tuned, alignment_of(bits, 16));

  cutting cut;
  made.line = 4;
  if (all.bytes() > small_bytes || forced != nullptr) {
    for (const std::int64_t share : {workspace_share, workspace_share / 2, std::int64_t{1}}) {
      if (cut.pieces > 0 || all.element >= long_item_bytes || (share == 1 && forced == nullptr)) break;
      const cutting rows = cut_side(true, all.rows, all.cols, all.element, all.bytes() / share);
      const cutting cols = cut_side(false, all.cols, all.rows, all.element, all.bytes() / share);
      cut = rows.cost <= cols.cost ? rows : cols;
    }
    if (cut.pieces > 0) made.line = cut.by_rows ? 6 : 7;
    if (cut.pieces == 0 && (all.element >= long_item_bytes || forced != nullptr)) made.line = 5;
  }
  made.passes = made.line == 5 ? 1 : 2;
  made.reason = reasons[made.line];
  if (made.line == 4) {
    made.workspace_bytes = there_and_back(make, all, form, places);
  } else if (made.line == 5) {
    gpu::cycles_job job;
    job.row_bytes = job.item_bytes = all.element;
    job.inner = map::fast_divisor(static_cast<std::uint32_t>(std::min<std::int64_t>(all.cols, INT32_MAX)));
    job.outer = static_cast<std::uint32_t>(std::min<std::int64_t>(all.rows, INT32_MAX));
    make.cycles(make.row_for(all.element, wanted.kernel), job, all.rows * all.cols, 0);
    made.workspace_bytes = 4 * all.rows * all.cols * parts_of(all.element);
  } else {
    strips(all, cut).build(make, wanted.kernel);
    made.workspace_bytes = cut.workspace;
  }
  if (made.line != 4) make.finish(bytes_of(places.fixed.data(), places.fixed_count, form.word_bytes), 0);
  made.workspace_bytes += workspace_alignment - 1;
  if (make.failed()) return {};
  made.kernel = made.moves[0].chosen.kernel;
  for (const gpu_move& one : made.moves) {
    if (std::holds_alternative<gpu::cycles_job>(one.chosen.job)) made.kernel = one.chosen.kernel;
  }
  return made;
}

}  // namespace cornerturn::planning
