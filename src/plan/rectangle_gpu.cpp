// Packed rectangles in place on a GPU: lines 4 to 7 of in_place_gpu.cpp. The strips of strips.hpp are one launch where
// tiles do it: see strips.cuh.
#include "plan/rectangle_gpu.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/checked.hpp"
#include "plan/cutting.hpp"
#include "plan/sides.hpp"
#include "plan/strips.hpp"

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
// Of strips whose blocks meet those of the one before: 8192 x 16384 float32 in strips of 17 MB has 0.42 of a copy with
// one flag a strip, 0.44 with two; strips of 26 to 96 MB lose up to 2 % by two (H200, 2026-11-22).
constexpr std::int64_t banded_strip_bytes = 24 << 20;
// A walker of shorter items has too few bytes on its way; a flag is then more than a hundredth of an item.
constexpr std::int64_t long_item_bytes = 512;
constexpr int walkers_per_multiprocessor = 32;  // as many blocks as fit on Hopper

// Builds programs, and the workspace that they share.
class builder {
 public:
  builder(gpu_rectangle& made, const gpu_request& wanted, const gpu_tuning& tuned, int array_alignment)
      : made_(made), wanted_(wanted), tuned_(tuned), forced_(wanted.kernel), array_alignment_(array_alignment) {
    wanted_.kernel = {};
    tuned_.small_bytes = 0;                 // a strip is one of many, not a matrix of its own
    tuned_.panel_tiles_per_sm = INT32_MAX;  // tiles wait for each other, panels do not
  }

  // The same move out of place from and to one or more places, in one launch where that can be.
  void move(const problem& what, const std::vector<gpu_step>& steps) {
    std::int64_t bits = array_alignment_;
    for (const gpu_step& one : steps) bits |= one.from | one.to;
    gpu_request wanted = wanted_;
    wanted.alignment = alignment_of(bits, 16);
    gpu_move added{.form = map::canonicalize(what, wanted.alignment), .chosen = {}};
    added.chosen = choose(added.form, wanted, tuned_);
    if (steps.size() < 2 || !together(what, steps, wanted)) add(added, steps);
  }

  // The steps as one more axis, the slowest, of blocks that wait for each other.
  bool together(problem what, const std::vector<gpu_step>& steps, const gpu_request& wanted) {
    const gpu_step &first = steps[0], &last = steps.back();
    const std::int64_t from = steps[1].from - first.from, to = steps[1].to - first.to;
    for (std::size_t k = 1; k < steps.size(); ++k) {
      if (steps[k].from - steps[k - 1].from != from || steps[k].to - steps[k - 1].to != to) return false;
    }
    const bool backwards = from < 0;
    if (from % what.element_bytes != 0 || to % what.element_bytes != 0 || (to < 0) != backwards) return false;
    const auto count = static_cast<std::int64_t>(steps.size());
    what.axes[what.rank++] = {count, std::abs(from) / what.element_bytes, std::abs(to) / what.element_bytes};
    gpu_move added{.form = map::canonicalize(what, wanted.alignment), .chosen = {}};
    added.chosen = choose_large(added.form, wanted);
    const auto* tiles = std::get_if<gpu::chain_job>(&added.chosen.job);
    if (added.chosen.kernel == nullptr || tiles == nullptr) return false;
    const kernels::kernel* const row = strips_row(*added.chosen.kernel);
    if (row == nullptr || row->shared_bytes > wanted.shared_bytes || tiles->blocks.rank == 0) return false;
    const gpu::grid_axis& slowest = tiles->blocks.axes[tiles->blocks.rank - 1];
    if (slowest.count.divisor != count || slowest.tiles[0] + slowest.tiles[1] != 0 ||
        slowest.src_step_bytes != std::abs(from) || slowest.dst_step_bytes != std::abs(to)) {
      return false;
    }
    gpu::strips_job job;
    static_cast<gpu::chain_job&>(job) = *tiles;
    if ((tiles->chained == 0 && !chain_up(job)) || !cut_bands(job, std::abs(from))) return false;
    added.chosen.blocks = static_cast<std::uint32_t>(count) * job.bands.divisor * job.band_blocks.divisor;
    job.last = added.chosen.blocks - 1;
    job.backwards = backwards ? 1 : 0;
    what.axes[what.rank - 1].extent = 1;
    find_room(job, what, backwards ? last : first, std::abs(from), std::abs(to));
    if (row->family == std::string_view("strips_shift")) {
      job.halo = gpu::shift_halo_bytes / static_cast<double>(job.blocks.extent[1] * added.form.word_bytes);
    }
    added.chosen.kernel = row;
    added.chosen.shared_bytes = row->shared_bytes;
    added.chosen.job = job;
    added.flags = count * job.bands.divisor;
    add(added, {backwards ? last : first});
    return true;
  }

  // The larger tiles where they are no more than a third empty: each block raises a flag and waits for one. 8192 x 16384
  // float64 in tiles of 16 x 16 has 0.24 of the copy (H200, 2026-11-22).
  [[nodiscard]] gpu_choice choose_large(const map::canonical& form, const gpu_request& wanted) const {
    const gpu_choice usual = choose(form, wanted, tuned_);
    const auto* tiles = std::get_if<gpu::chain_job>(&usual.job);
    if (usual.kernel == nullptr || tiles == nullptr) return usual;
    const kernels::kernel* const large = row_of(usual.kernel->family, usual.kernel->element_bytes);
    if (large == nullptr || large == usual.kernel || large->tile_rows <= usual.kernel->tile_rows) return usual;
    const double filled =
        fill(tiles->blocks.extent[0], large->tile_cols) * fill(tiles->blocks.extent[1], large->tile_rows);
    if (3 * filled < 2) return usual;
    gpu_request forced = wanted;
    forced.kernel = large->name;
    const gpu_choice made = choose(form, forced, tuned_);
    return made.kernel == large ? made : usual;
  }

  // The row for items of these bytes, or the forced one; null: it cannot move them. The widest words, then the shortest
  // parts, of which one holds an item.
  [[nodiscard]] const kernels::kernel* row_for(std::int64_t row_bytes, std::int64_t item) const noexcept {
    const int word = alignment_of(row_bytes | item | array_alignment_, 16);
    const kernels::kernel* best = nullptr;
    for (const kernels::kernel& row : kernels::all()) {
      if (row.launch == nullptr || row.family != std::string_view("cycles") || row.element_bytes > word) continue;
      if (part_of(row) < std::min<std::int64_t>(item, gpu::cycles_part_bytes)) continue;
      if (!forced_.empty() && row.name != forced_) continue;
      if (best == nullptr || row.element_bytes > best->element_bytes ||
          (row.element_bytes == best->element_bytes && part_of(row) < part_of(*best))) {
        best = &row;
      }
    }
    return best;
  }
  static std::int64_t part_of(const kernels::kernel& row) noexcept {
    return std::int64_t{row.tile_cols} * row.element_bytes;
  }

  // Of strips; the forced row may be one that cannot.
  void follow(const kernels::item_cycles& items, std::int64_t item_bytes) {
    gpu::cycles_job job;
    job.row_bytes = items.row_bytes;
    job.item_bytes = item_bytes;
    job.row_places = map::fast_divisor(static_cast<std::uint32_t>(items.row_places));
    job.inner = map::fast_divisor(static_cast<std::uint32_t>(items.inner));
    job.outer = static_cast<std::uint32_t>(items.outer);
    job.turned_inner = static_cast<std::uint32_t>(items.turned_inner);
    job.turned_outer = static_cast<std::uint32_t>(items.turned_outer);
    job.first_away = static_cast<std::uint32_t>(items.first_away);
    job.count_away = static_cast<std::uint32_t>(items.count_away);
    job.writes_away = items.writes_away ? 1 : 0;
    cycles(row_for(job.row_bytes, job.item_bytes), job, items.inner * items.outer, items.away_at, items.flags_at);
  }
  // Fills what the row, the items and the device say of a job of cycles. away_at: in the workspace
  void cycles(const kernels::kernel* row, gpu::cycles_job job, std::int64_t places, std::int64_t away_at,
              std::int64_t flags_at) {
    if (row == nullptr) return fail();
    const std::int64_t most = row->element_bytes == 1 ? realigned_part_bytes : part_of(*row);
    const std::int64_t parts = ceil_div(job.item_bytes, most);
    const std::int64_t part = std::min(ceil_div(ceil_div(job.item_bytes, parts), 64) * 64, job.item_bytes);
    if (places >= INT32_MAX / parts) return fail();
    job.part_bytes = static_cast<std::int32_t>(part);
    job.parts = map::fast_divisor(static_cast<std::uint32_t>(ceil_div(job.item_bytes, part)));
    job.count = static_cast<std::uint32_t>(places * job.parts.divisor);
    job.walkers = std::min(job.count, static_cast<std::uint32_t>(wanted_.multiprocessors * walkers_per_multiprocessor));
    gpu_move added;
    added.chosen = {.kernel = row, .job = job, .blocks = job.walkers, .shared_bytes = gpu::cycles_shared_bytes};
    added.flags = gpu::flags_of_cycles(job.count);
    add(added, {gpu_step{.from_workspace = job.count_away > 0, .from = away_at, .flags_at = flags_at}});
  }

  void finish(const kernels::chain& repeat, std::int64_t begin) {
    made_.programs.push_back({.repeat = repeat, .begin = begin, .steps = std::move(steps_)});
    steps_.clear();
  }
  void fail() { made_.kernel = nullptr, failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  // The row of strips that moves tiles as this one does.
  static const kernels::kernel* strips_row(const kernels::kernel& tile) noexcept {
    const std::string_view family = tile.family;
    const bool shifts = family.starts_with("shift");
    if (!shifts && family != "tile" && family != "chain") return nullptr;
    for (const kernels::kernel& row : kernels::all()) {
      if (row.family == std::string_view(shifts ? "strips_shift" : "strips") && row.tile_rows == tile.tile_rows &&
          row.tile_cols == tile.tile_cols && row.element_bytes == tile.element_bytes) {
        return &row;
      }
    }
    return nullptr;
  }
  // One axis of rows and one of columns, as chains of one; false where they are too long, or rows are cut into bands.
  static bool chain_up(gpu::chain_job& job) noexcept {
    int cuts = 0;
    for (int k = 0; k < job.blocks.rank; ++k) cuts += job.blocks.axes[k].tiles[1] > 0 ? 1 : 0;
    if (cuts > 1 || std::max(job.blocks.extent[0], job.blocks.extent[1]) > INT32_MAX / 2) return false;
    const auto chain_of = [](std::int64_t extent, std::int64_t stride_bytes) {
      gpu::chain made;
      made.rank = 1;
      made.axes[0] = {map::fast_divisor(static_cast<std::uint32_t>(extent)), stride_bytes};
      return made;
    };
    job.chained = 1;
    job.rows = chain_of(job.blocks.extent[1], job.src_row_bytes);
    job.cols = chain_of(job.blocks.extent[0], job.dst_col_bytes);
    for (int k = 0; k < job.blocks.rank; ++k) {
      gpu::grid_axis& one = job.blocks.axes[k];
      if (one.tiles[1] > 0) one.src_step_bytes = 0;
      if (one.tiles[0] > 0) one.dst_step_bytes = 0;
    }
    return true;
  }

  // Blocks go down columns of tiles, those of a band before those of the next; false where there are axes beside these.
  static bool cut_bands(gpu::strips_job& job, std::int64_t strip_bytes) noexcept {
    gpu::grid_axis cols, rows;
    for (int k = 0; k + 1 < job.blocks.rank; ++k) {
      gpu::grid_axis& its = job.blocks.axes[k].tiles[0] > 0 ? cols : rows;
      if (its.tiles[0] + its.tiles[1] > 0 || job.blocks.axes[k].tiles[0] + job.blocks.axes[k].tiles[1] != 1)
        return false;
      its = job.blocks.axes[k];
    }
    const auto strips = job.blocks.axes[job.blocks.rank - 1];
    const std::uint32_t tiles = rows.count.divisor;
    const auto band = static_cast<std::uint32_t>(ceil_div(tiles, strip_bytes <= banded_strip_bytes ? most_bands : 1));
    gpu::grid_axis bands = rows;
    bands.count = map::fast_divisor((tiles + band - 1) / band);
    bands.tiles[1] *= band;
    bands.src_step_bytes *= band;
    bands.dst_step_bytes *= band;
    rows.count = map::fast_divisor(band);
    job.blocks.rank = 4;
    job.blocks.axes[0] = rows, job.blocks.axes[1] = cols, job.blocks.axes[2] = bands, job.blocks.axes[3] = strips;
    job.bands = bands.count;
    job.band_blocks = map::fast_divisor(band * cols.count.divisor);
    job.band_rows = static_cast<double>(band) * job.blocks.tile[1];
    return true;
  }

  // first: the step of the lowest strip. A strip lies, and goes, where every index lies but for gaps: at most as many
  // bytes as from its end to the next one.
  static void find_room(gpu::strips_job& job, const problem& strip, const gpu_step& first, std::int64_t src_step,
                        std::int64_t dst_step) noexcept {
    std::int64_t src_span = 1, dst_span = 1;
    for (int k = 0; k < strip.rank; ++k) {
      src_span += (strip.axes[k].extent - 1) * strip.axes[k].src_stride;
      dst_span += (strip.axes[k].extent - 1) * strip.axes[k].dst_stride;
    }
    const auto of_strip = [&](std::int64_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(src_step);
    };
    job.room = of_strip(first.to - first.from);
    job.room_strip = of_strip(dst_step);
    job.room_column = of_strip(dst_step) / static_cast<double>(job.blocks.extent[0]);
    job.room_margin =
        of_strip(src_step - src_span * strip.element_bytes + dst_step - dst_span * strip.element_bytes) + 1e-9;
  }

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
  gpu_tuning tuned_;
  std::string_view forced_;
  int array_alignment_;
  std::vector<gpu_step> steps_;
  bool failed_ = false;
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
      const cutting rows = cut_side(true, all.rows, all.cols, all.element, all.bytes() / share, of_gpu);
      const cutting cols = cut_side(false, all.cols, all.rows, all.element, all.bytes() / share, of_gpu);
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
    make.cycles(make.row_for(all.element, all.element), job, all.rows * all.cols, 0, 0);
    made.workspace_bytes = 4 * gpu::flags_of_cycles(all.rows * all.cols * most_parts(all.element));
  } else {
    strips<builder>(all, cut).build(make);
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
