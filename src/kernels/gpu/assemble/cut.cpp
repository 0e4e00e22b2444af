#include "kernels/gpu/assemble/cut.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/gpu/policy/box_axes.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "map/banks.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

// A multiprocessor has at least so many boxes, if they are not too small: 250 problems of 1 to 24 MB have 0.72 of a copy,
// with boxes of 24 and 32 KiB 0.68 (H200, 2026-11-26).
constexpr std::int64_t boxes_at_once = 4;
constexpr std::int64_t least_box_bytes = 12 << 10;
constexpr std::int64_t most_bytes = 65535;  // of a box: a table entry has 16 bits
constexpr int most_padding = 4;             // times 16 bytes, between runs
// The cost of a chunk, in wavefronts of shared memory. Fitted to 129 problems with up to eight choices each: the choices by
// these constants reach 0.851 of a copy, the fastest ones 0.857 (H200, 2026-11-24).
constexpr double other_cost = 24;                     // besides loads
constexpr double stored_line_cost = 4;                // of each line that a warp stores to at once
constexpr double swizzle_cost = 0.3;                  // of a load
constexpr double turn_cost = 1.25;                    // of a load
constexpr double granule_cost = 5;                    // of the copy of a granule
constexpr double part_cost = 500;                     // of a part of a chunk and of its sector, at the end of a line
constexpr double entry_cost = 30;                     // of an element in the table
constexpr double halo_cost = 50;                      // of a halo as long as its line
constexpr double padding_cost = 7;                    // in a box twice as large, so that fewer boxes are in flight
constexpr std::int64_t most_halo_bytes = 384;         // of a line; without a halo the line ends within sectors
constexpr double long_halo_part = 0.2;                // of a line; boxes with longer lines may be faster
constexpr std::int64_t most_short_line_bytes = 1024;  // of a line that may go on
constexpr std::int64_t least_row_bytes = 64;          // of a run that gets padding inside
constexpr std::int32_t swizzled_bits = 0x70;          // of an offset: granules of 16 bytes within 128
constexpr std::int64_t least_run_bytes = 16;          // a chunk is in two elements at most
constexpr std::int64_t most_spare_entries = 15;       // words.cuh: of the table, past a piece
constexpr std::int64_t bridged_bytes = 32;  // of a run that goes on over a gap: its sectors are fetched anyway
// Lines that go on in dst end within sectors. Of 162 bytes they reach 0.40 of a copy where another family has 0.66; of
// 945 bytes 0.69 and 0.49 (H200, 2026-11-24).
constexpr std::int64_t least_line_bytes = 256;

// The smallest number that is at least `least` and equal to `like` modulo 16.
std::int64_t at_least(std::int64_t least, std::int64_t like) noexcept {
  return least + ((like - least) % 16 + 16) % 16;
}

// Bytes of shared memory from one index of each axis to the next: negative along an axis of runs that descends in src.
using smem_strides = std::array<std::int64_t, map::max_axes>;

// The order in which a lane loads its elements: see assemble_args. mask 0: all lanes in one order.
struct lane_turns {
  int shift = 0, mask = 0;
  [[nodiscard]] int of(int lane) const noexcept { return lane * 4 >> shift & mask; }
};

// The indices at which the lanes of a warp begin, of each axis of lines and then of the other axes.
struct lane_starts {
  int count = 0;
  std::array<int, max_box_axes> axes{};
  std::array<std::array<std::int32_t, kernels::most_lanes>, max_box_axes> index;  // (axis, lane)
};

class layout {
 public:
  layout(const box_axes& axes, int words, bool fused, const kernels::target& on) noexcept
      : axes_(axes),
        form_(axes.form()),
        word_(form_.word_bytes),
        words_(words),
        fused_(fused),
        lanes_(on.lanes),
        store_bytes_(on.store_bytes) {}

  [[nodiscard]] assemble_box make(std::int64_t most_shared_bytes) noexcept;

 private:
  [[nodiscard]] int slot_of(int k) const noexcept { return k == cut_run_ ? 0 : k == cut_line_ ? 1 : -1; }
  [[nodiscard]] bool descends(int k) const noexcept { return form_.axes[k].src_stride < 0; }
  [[nodiscard]] std::int64_t loaded(int k) const noexcept { return axes_.tile(k) + (k == halo_axis_ ? halo_ : 0); }
  // Strides with `pad` * 16 more bytes between runs, which have the first `run_axes` axes of runs of src. Returns the bytes
  // of the box.
  std::int64_t pitches(int run_axes, int pad, smem_strides& strides) const noexcept;
  [[nodiscard]] lane_starts starts_of(int lanes_log2, lane_turns turns) const noexcept;
  [[nodiscard]] double conflicts_of(const smem_strides& strides, const lane_starts& starts, int swizzle,
                                    double most) const noexcept;
  int choose_pitch(assemble_box& made, smem_strides& strides) const noexcept;
  [[nodiscard]] box_walk run_of(int run_axes) const noexcept {
    box_walk made = axes_.run();
    made.count = run_axes;
    return made;
  }
  // The bytes of src that a run spans, up to where its last axis would go on.
  [[nodiscard]] std::int64_t span_of(const box_walk& run) const noexcept {
    const int last = run.axes[run.count - 1];
    return base::magnitude(form_.axes[last].src_stride) * axes_.tile(last) * word_;
  }
  [[nodiscard]] assemble_count count(const box_walk& all, int first, int last) const noexcept;
  bool number(grid& blocks, std::uint32_t& all) const noexcept;

  const box_axes& axes_;
  const map::canonical& form_;
  std::int64_t word_;
  int words_;
  bool fused_;
  int lanes_;                        // of a warp
  std::int32_t store_bytes_;         // of dst: lines begin and end at multiples
  box_walk src_{&axis::src_stride};  // all axes of the box, the axes of a run first
  box_walk dst_{&axis::dst_stride};  // all axes of the box, the axes of a line first
  int cut_run_ = -1, cut_line_ = -1;
  int halo_axis_ = -1;  // the axis that cuts lines
  std::int64_t halo_ = 0;
};

std::int64_t layout::pitches(int run_axes, int pad, smem_strides& strides) const noexcept {
  const box_walk src = axes_.whole_order(run_of(run_axes));
  std::int64_t dense = word_;
  for (int i = 0; i < run_axes; ++i) {
    strides[src.axes[i]] = form_.axes[src.axes[i]].src_stride * word_;
    dense = base::magnitude(strides[src.axes[i]]) * loaded(src.axes[i]);
  }
  // A run may begin anywhere in its first granule, and the next run too.
  bool alike = true;
  for (int i = run_axes; i < src.count; ++i) {
    alike = alike && form_.axes[src.axes[i]].src_stride * word_ % 16 == 0;
  }
  std::int64_t end = dense;
  dense += (alike ? 15 : 30) + (words_ == 3 && word_ == 1 ? 4 : 0) + 16 * pad;
  for (int i = run_axes; i < src.count; ++i) {
    const int k = src.axes[i];
    strides[k] = at_least(dense, form_.axes[k].src_stride * word_);
    end += strides[k] * (loaded(k) - 1);
    dense = strides[k] * loaded(k);
  }
  return ceil_div(15 + end + (words_ == 3 && word_ == 1 ? 4 : 0), 16) * 16;
}

// Lines that are differently misaligned in dst begin with different elements.
lane_starts layout::starts_of(int lanes_log2, lane_turns turns) const noexcept {
  lane_starts made;
  const int skipped = words_ == 1 ? 0 : 1, line_axes = axes_.line().count;
  for (int i = skipped; i < dst_.count; ++i) {
    made.index[made.count].fill(0);
    made.axes[made.count++] = dst_.axes[i];
  }
  // Splits `index` over the axes [first, last) of `made`. Most lanes need no division.
  int reached = 0;  // no lane has an index on the axes from here on
  const auto split = [&](int index, int first, int last, int lane) {
    for (int i = first; i < last && index > 0; ++i) {
      reached = std::max(reached, i + 1);
      const auto tile = static_cast<int>(axes_.tile(made.axes[i]));
      const int above = index < tile ? 0 : index / tile;
      made.index[i][lane] = index - above * tile;
      index = above;
    }
  };
  const int element = static_cast<int>(word_) * std::max(words_, 1);
  const auto of_line = static_cast<int>(axes_.elements(axes_.line()) / std::max(words_, 1));
  for (int lane = 0; lane < lanes_; ++lane) {
    split(lane >> lanes_log2, line_axes - skipped, made.count, lane);
    std::int64_t misaligned = 0;
    for (int i = line_axes - skipped; i < made.count; ++i) {
      misaligned += made.index[i][lane] * (form_.axes[made.axes[i]].dst_stride * word_ & (store_bytes_ - 1));
    }
    const int along = lane & ((1 << lanes_log2) - 1);
    const int index =
        (along * 16 + store_bytes_ - static_cast<int>(misaligned & (store_bytes_ - 1))) / element + turns.of(lane);
    split(index < of_line ? index : index % of_line, 0, line_axes - skipped, lane);
  }
  made.count = reached;
  return made;
}

// The average wavefronts of a load from shared memory by the lanes of a warp, of the first elements of their chunks. More
// than `most` if there are more than `most`.
double layout::conflicts_of(const smem_strides& strides, const lane_starts& starts, int swizzle,
                            double most) const noexcept {
  const int group = map::lanes_at_once(word_);
  const int cell_log2 = std::countr_zero(static_cast<unsigned>(map::bank_cell_bytes(word_)));
  const std::int32_t mask = swizzle == 0 ? 0 : swizzled_bits;
  std::array<std::int32_t, kernels::most_lanes> cells{};
  for (int i = 0; i < starts.count; ++i) {
    const auto stride = static_cast<std::int32_t>(strides[starts.axes[i]]);
    const auto first = stride < 0 ? static_cast<std::int32_t>(axes_.tile(starts.axes[i]) - 1) * -stride : 0;
    for (int lane = 0; lane < lanes_ && first > 0; ++lane) cells[lane] += first;
    for (int lane = 0; lane < lanes_; ++lane) cells[lane] += starts.index[i][lane] * stride;
  }
  for (std::int32_t& cell : cells) cell = (cell ^ (cell >> swizzle & mask)) >> cell_log2;
  int all = 0, loads = 0;
  const double most_in_all = most * (lanes_ / group);
  for (int first = 0; first < lanes_; first += group, ++loads) {
    map::bank_counter<std::int32_t> counter(group);
    for (int lane = first; lane < first + group; ++lane) {
      if (counter.add(cells[lane]) > most_in_all - all) return most + 1;
    }
    all += counter.wavefronts();
  }
  return static_cast<double>(all) / loads;
}

// Chooses the padding of runs and the lanes along a line. Eight lanes along a line store 128 bytes at a time; fewer may
// have fewer bank conflicts. A plan takes 10 us at most, so few choices are tried: runs that are split at one of their axes,
// so that each part gets padding, and swizzles only where the usual choices have conflicts.
int layout::choose_pitch(assemble_box& made, smem_strides& strides) const noexcept {
  const double loads = words_ == 0 ? 8 : words_ == 1 ? 16.0 / static_cast<double>(word_) : word_ == 8 ? 6 : 12;
  std::int64_t lines = 1;
  for (int i = axes_.line().count; i < dst_.count; ++i) lines *= axes_.tile(dst_.axes[i]);
  const std::int64_t chunks =
      std::max<std::int64_t>(1, axes_.elements(axes_.line()) * word_ / 16 + (halo_ > 0 ? 0 : 1));
  const int most_along = words_ != 0 && lines >= 4 ? 3 : 5, fewest_along = words_ == 0 || lines >= 4 ? 1 : 3;
  const int all_run_axes = axes_.run().count;
  int run_axes = all_run_axes;
  double best = 1e300;
  smem_strides usual{};
  const auto usual_bytes = static_cast<double>(pitches(all_run_axes, 0, usual));
  std::array<lane_starts, 6> starts_by_lanes;
  std::array<bool, 6> has_starts{};
  lane_turns turns;
  const auto starts = [&](int along) -> const lane_starts& {
    if (!has_starts[along]) starts_by_lanes[along] = words_ == 0 ? lane_starts{} : starts_of(along, turns);
    has_starts[along] = true;
    return starts_by_lanes[along];
  };
  // Tries all lanes along a line and all paddings with more instructions for each chunk.
  const auto try_all = [&](int axes_of_run, int swizzle, double more) {
    std::array<smem_strides, most_padding> padded{};
    std::array<std::int64_t, most_padding> bytes{};
    int paddings = 0;
    while (paddings < (swizzle > 0 ? 1 : most_padding)) {
      bytes[paddings] = pitches(axes_of_run, paddings, padded[paddings]);
      if (swizzle > 0) bytes[paddings] = ceil_div(bytes[paddings], 128) * 128;
      if (paddings > 0 && bytes[paddings] > most_bytes) break;
      ++paddings;
    }
    for (int along = most_along; along >= fewest_along; --along) {
      const auto lanes = std::int64_t{1} << along;
      const double used =
          static_cast<double>(chunks * lines) /
          static_cast<double>(ceil_div(chunks, lanes) * lanes * ceil_div(lines, lanes_ / lanes) * (lanes_ / lanes));
      const auto cost_of = [&](double conflicts, int pad) {
        return (loads * conflicts + stored_line_cost * static_cast<double>(lanes_ / lanes) + other_cost + more) / used +
               0.1 * pad;
      };
      if (cost_of(1, 0) >= best) continue;
      for (int pad = 0; pad < paddings && cost_of(1, pad) < best; ++pad) {
        const double most = 1 + (best - cost_of(1, pad)) * used / loads;
        const double conflicts = words_ == 0 ? 1 : conflicts_of(padded[pad], starts(along), swizzle, most);
        const double larger = axes_of_run == all_run_axes ? 0 : static_cast<double>(bytes[pad]) / usual_bytes - 1;
        const double cost = cost_of(conflicts, pad) + padding_cost * larger;
        if (cost >= best) continue;
        best = cost;
        strides = padded[pad];
        run_axes = axes_of_run;
        made.shared_bytes = static_cast<int>(std::min<std::int64_t>(bytes[pad], INT32_MAX));
        made.conflicts = conflicts;
        made.args.line_lanes = along;
        made.args.swizzle_shift = swizzle;
        made.args.turn_shift = turns.shift;
        made.args.turn_mask = turns.mask;
        made.args.swizzle_mask = swizzle > 0 ? std::uint32_t{swizzled_bits} * 0x10001 : 0;
      }
    }
  };
  try_all(all_run_axes, 0, 0);
  if (fused_ && made.conflicts >= 2) {
    const int skipped = words_ == 1 ? 0 : 1;
    std::int64_t row = axes_.elements(axes_.run()) * word_;
    for (int count = all_run_axes - 1; count > skipped; --count) {
      row /= axes_.tile(axes_.run().axes[count]);
      if (row < least_row_bytes) break;
      // Only one axis of the rows may be cut: their last one.
      if (cut_run_ >= 0 && cut_line_ >= 0) break;
      try_all(count, 0, granule_cost * (1.0 / 3 + 30 / static_cast<double>(row)));
    }
    if (words_ == 1 && word_ <= 8) {
      for (int swizzle = 3; swizzle <= 7 && made.conflicts >= 2; ++swizzle) {
        try_all(all_run_axes, swizzle, swizzle_cost * loads + 4);
      }
    }
  }
  if (words_ == 1 && word_ <= 2 && made.conflicts > 2) {
    const int all_bits = 16 / static_cast<int>(word_) - 1;
    const int some_bits =
        all_bits & -(fused_ ? 4 : 4 / static_cast<int>(word_));  // whole words, or whole loads of the table
    const int swizzle = made.args.swizzle_shift;
    for (const lane_turns& each : {lane_turns{2, all_bits}, lane_turns{1, some_bits}, lane_turns{3, some_bits}}) {
      if (fused_ && each.mask != some_bits) continue;
      turns = each;
      has_starts.fill(false);
      try_all(all_run_axes, 0, turn_cost * loads);
      if (swizzle > 0) try_all(all_run_axes, swizzle, (turn_cost + swizzle_cost) * loads + 4);
    }
  }
  made.cost = best;
  return run_axes;
}

assemble_count layout::count(const box_walk& all, int first, int last) const noexcept {
  assemble_count made;
  for (int i = first; i < last; ++i) {
    if (slot_of(all.axes[i]) >= 0) {
      made.slot = slot_of(all.axes[i]);
    } else {
      made.each *= static_cast<std::int32_t>(axes_.tile(all.axes[i]));
    }
  }
  return made;
}

// The smallest step in dst first, so that consecutive blocks complete lines of dst. Neighbouring runs share a sector of
// src. So long lines are walked in bands: the next boxes of the runs follow while these sectors are in L2.
bool layout::number(grid& blocks, std::uint32_t& all) const noexcept {
  grid_builder builder(blocks, word_);
  std::array<int, map::max_axes> order{};
  for (int k = 0; k < form_.rank; ++k) order[k] = k;
  const auto dst_step = [&](int k) { return axes_.tile(k) * base::magnitude(form_.axes[k].dst_stride); };
  std::stable_sort(order.begin(), order.begin() + form_.rank, [&](int a, int b) { return dst_step(a) < dst_step(b); });
  std::int64_t bands = 1;
  const auto add = [&](int k, std::int64_t count, std::int64_t tiles) {
    const std::int64_t step = axes_.tile(k) * tiles;
    builder.add(count, slot_of(k), tiles, step * form_.axes[k].src_stride, step * form_.axes[k].dst_stride);
  };
  for (int i = 0; i < form_.rank; ++i) {
    const int k = order[i];
    const std::int64_t count = ceil_div(form_.axes[k].extent, axes_.tile(k));
    const int slot = slot_of(k);
    if (slot >= 0) {
      blocks.extent[slot] = form_.axes[k].extent;
      blocks.tile[slot] = static_cast<std::int32_t>(axes_.tile(k));
    }
    if (k == halo_axis_ && k != cut_run_ && cut_run_ >= 0 && dst_step(k) < dst_step(cut_run_) &&
        2 * count * axes_.elements() * word_ > banded_bytes) {
      bands = ceil_div(count, band_tiles);
    }
    add(k, k == halo_axis_ ? ceil_div(count, bands) : count, 1);
    if (k == cut_run_ && bands > 1) {
      const std::int64_t lines = ceil_div(form_.axes[halo_axis_].extent, axes_.tile(halo_axis_));
      add(halo_axis_, bands, ceil_div(lines, bands));
    }
  }
  all = builder.blocks();
  return all != 0;
}

assemble_box layout::make(std::int64_t most_shared_bytes) noexcept {
  assemble_box made;
  assemble_args& args = made.args;
  const box_walk &all_run = axes_.run(), &line = axes_.line();
  const int skipped = words_ == 1 ? 0 : 1;  // the axis of an element's words
  if (all_run.count == 0 || line.count == 0 || !axes_.contiguous(all_run) || !axes_.contiguous(line)) return made;
  if (words_ != 1 && all_run.axes[0] != line.axes[0]) return made;
  const int inner = line.axes[0];
  const bool has_runs =
      all_run.axes[0] == inner && form_.axes[inner].src_stride == 1 && axes_.tile(inner) * word_ >= least_run_bytes;
  if (words_ == 3 && (axes_.tile(inner) != 3 || line.count == 1)) return made;
  const std::int64_t bytes_of_line = axes_.elements(line) * word_;
  if (axes_.line_goes_on() && bytes_of_line < least_line_bytes && bytes_of_line % store_bytes_ != 0) return made;
  if (words_ == 0 && !has_runs) return made;
  if (words_ == 1 && word_ < 16 && has_runs) return made;  // a chunk takes fewer loads of runs than of words
  src_ = axes_.whole_order(all_run);
  dst_ = axes_.whole_order(line);
  const bool plain = line.count - skipped == 1 && src_.count - all_run.count <= 1 && dst_.count - line.count <= 1;
  if (words_ != 0 && plain == fused_) return made;
  args.store_bytes = store_bytes_;
  cut_run_ = axes_.cut_of_run();
  cut_line_ = axes_.cut_of_line();
  const int last_of_line = line.axes[line.count - 1];
  const std::int64_t each_bytes = axes_.elements(line) / axes_.tile(last_of_line) * word_;
  const std::int64_t halo = ceil_div(store_bytes_ - word_, each_bytes);
  if (axes_.line_is_cut() && halo * each_bytes <= most_halo_bytes) {
    halo_axis_ = last_of_line;
    halo_ = halo;
    if (halo_ > axes_.tile(halo_axis_)) return made;
    args.halo = static_cast<std::int32_t>(halo_);
    made.halo_part = static_cast<double>(halo_) / static_cast<double>(axes_.tile(halo_axis_));
  }
  smem_strides strides{};
  const box_walk run = run_of(choose_pitch(made, strides));
  made.is_too_large = made.shared_bytes > most_bytes;
  if (made.is_too_large) return made;
  made.run_bytes = span_of(axes_.run());
  made.row_bytes = span_of(run);
  made.gaps = made.src_part = static_cast<double>(made.row_bytes) / static_cast<double>(axes_.elements(run) * word_);
  src_ = axes_.whole_order(run);
  if (halo_axis_ >= 0) args.src_to_origin = halo_ * form_.axes[halo_axis_].src_stride * word_;
  bool cut_descends = false;
  for (int i = 0; i < run.count; ++i) {
    const int k = run.axes[i];
    if (!descends(k)) continue;
    const std::int64_t steps = loaded(k) - 1;
    args.src_to_origin -= steps * form_.axes[k].src_stride * word_;
    args.smem_first -= static_cast<std::int32_t>(steps * strides[k]);
    if (line.has(k) && k != last_of_line) args.entry_bias -= static_cast<std::int32_t>(steps * strides[k]);
    cut_descends = cut_descends || slot_of(k) >= 0;
  }
  const auto listed = [&](int k, std::int64_t stride) {
    return assemble_axis{stride * word_, map::fast_divisor(static_cast<std::uint32_t>(axes_.tile(k))),
                         static_cast<std::int32_t>(strides[k])};
  };
  for (int i = run.count; i < src_.count; ++i) {
    args.rows[args.row_rank++] = listed(src_.axes[i], form_.axes[src_.axes[i]].src_stride);
  }
  for (int i = line.count; i < dst_.count; ++i) {
    args.lines[args.line_rank++] = listed(dst_.axes[i], form_.axes[dst_.axes[i]].dst_stride);
  }
  for (int i = skipped; i < line.count; ++i) args.elements[args.element_rank++] = listed(line.axes[i], 0);
  const int last_of_run = run.axes[run.count - 1];
  args.run_bytes = {static_cast<std::int32_t>(base::magnitude(strides[last_of_run])), slot_of(last_of_run)};
  if (args.run_bytes.slot < 0) args.run_bytes.each = static_cast<std::int32_t>(made.row_bytes);
  // With gaps in src, lines of 128 bytes instead of 64 take up to 1.5 times as long (H200, 2026-11-30).
  const auto touched_by = [&](std::int64_t bytes) {
    return touched_of(form_, &axis::src_stride, form_.word_bytes, bytes).all;
  };
  args.whole_lines = touched_by(128) > 1.25 * touched_by(64) ? 0 : 1;
  args.row_count = count(src_, run.count, src_.count);
  args.line_bytes = count(dst_, 0, line.count);
  args.line_bytes.each *= static_cast<std::int32_t>(word_);
  args.element.divisor = 0;
  if (words_ == 0 && axes_.whole(inner)) {
    args.element = map::fast_divisor(static_cast<std::uint32_t>(axes_.tile(inner) * word_));
  }
  args.line_count = count(dst_, line.count, dst_.count);
  made.line_bytes = made.bytes_between_parts = axes_.elements(line) * word_;
  if (halo_ > 0) made.bytes_between_parts = each_bytes * form_.axes[halo_axis_].extent;

  const std::int64_t loaded_run =
      run.has(halo_axis_) ? made.row_bytes / axes_.tile(halo_axis_) * loaded(halo_axis_) : made.row_bytes;
  const std::int64_t granules = ceil_div(loaded_run + 15 + (words_ == 3 && word_ == 1 ? 4 : 0), 16);
  if (cut_descends) args.descending_run_bytes = static_cast<std::int32_t>(loaded_run);
  args.span_end = loaded_run;
  args.most_rows = 1;
  for (int i = run.count; i < src_.count; ++i) {
    args.most_rows *= static_cast<std::int32_t>(loaded(src_.axes[i]));
    const std::int64_t reached = (loaded(src_.axes[i]) - 1) * form_.axes[src_.axes[i]].src_stride * word_;
    (reached < 0 ? args.span_begin : args.span_end) += reached;
  }
  const std::int64_t most_threads = std::max(32, assemble_threads / args.most_rows);  // of a run
  args.granule_threads =
      map::fast_divisor(static_cast<std::uint32_t>(ceil_div(granules, ceil_div(granules, most_threads))));
  args.rows_at_once = assemble_threads / static_cast<std::int32_t>(args.granule_threads.divisor);
  args.most_lines = static_cast<std::int32_t>(axes_.elements() / axes_.elements(line));
  const auto groups = [&](std::int64_t chunks) {
    return static_cast<std::int32_t>(ceil_div(chunks, std::int64_t{1} << args.line_lanes));
  };
  if (halo_ > 0 && made.line_bytes % store_bytes_ == 0) args.whole_groups = groups(made.line_bytes / 16);
  args.edge_groups = groups(ceil_div(made.line_bytes + store_bytes_ - 1, 16) + 1);
  const std::int64_t stacks = ceil_div(std::int64_t{args.most_lines}, lanes_ >> args.line_lanes);
  const std::int64_t usual = args.whole_groups > 0 ? args.whole_groups : args.edge_groups;
  std::int64_t fewest = INT64_MAX;
  const int all_warps = assemble_threads / lanes_;
  for (int warps = 0; all_warps >> warps > 0; ++warps) {
    const std::int64_t steps = ceil_div(stacks, all_warps >> warps) * ceil_div(usual, std::int64_t{1} << warps);
    if (steps < fewest) fewest = steps, args.stack_warps = warps;
  }
  for (int k = 0; k < form_.rank; ++k) {
    made.tile[k] = axes_.tile(k);
    if (form_.axes[k].src_stride == 0) made.src_part /= static_cast<double>(axes_.tile(k));
  }
  args.tables = made.shared_bytes;
  if (fused_) {
    const std::int64_t last = line.count > skipped ? axes_.tile(line.axes[line.count - 1]) : 1;
    const std::int64_t each =
        line.count > skipped ? axes_.elements(line) / (words_ == 1 ? 1 : axes_.tile(inner)) / last : 1;
    const std::int64_t indices = std::min<std::int64_t>(last, ceil_div(64, each));
    args.piece = map::fast_divisor(static_cast<std::uint32_t>(each * indices));
    args.piece_smem_stride = static_cast<std::int32_t>(indices * strides[last_of_line]);
    if (strides[last_of_line] < 0) {  // with the entries past a piece
      const std::int64_t steps = (each * indices + most_spare_entries - 1) / each;
      args.entry_bias -= static_cast<std::int32_t>(steps * strides[last_of_line]);
      if (args.entry_bias + made.shared_bytes > most_bytes) return made;
    }
    // Copies begin in different banks: a window behind a multiple of 32 bytes, or of 128.
    const int window = assemble_window(word_, words_), multiple = window == 8 ? 128 : 32;
    const std::int64_t entries = each * indices + most_spare_entries + window;
    args.element_copy_bytes = static_cast<std::int32_t>(ceil_div(2 * entries, multiple) * multiple + 2 * window);
    args.row_tables = args.tables + window * args.element_copy_bytes;
    made.shared_bytes = args.row_tables + static_cast<int>(ceil_div(12 * (args.most_rows + args.most_lines), 16) * 16);
  }
  const double chunks = static_cast<double>(axes_.elements() * word_) / 16;
  made.cost += halo_cost * made.halo_part;
  if (halo_ == 0) made.cost += part_cost * 2 * args.most_lines / chunks;
  if (fused_) made.cost += entry_cost * args.piece.divisor / chunks;
  made.is_too_large = made.shared_bytes > most_shared_bytes;
  if (made.is_too_large || !number(args.blocks, made.blocks)) made.blocks = 0;
  return made;
}

}  // namespace

assemble_box cut_for_assembly(const map::canonical& form, int words, bool fused, std::int64_t most_shared_bytes,
                              const kernels::target& on) noexcept {
  const device_costs& costs = *on.gpu;
  const std::int64_t word = form.word_bytes;
  // Boxes of 24 KiB are faster than 32 KiB if elements are few instructions: words of 4 bytes 0.916 and 0.906 of a copy,
  // of 8 bytes 0.938 and 0.927 (H200, 2026-11-23).
  const std::int64_t most = words == 1 && word >= 4 ? costs.assemble_bytes * 3 / 4 : costs.assemble_bytes;
  const std::int64_t all = map::words(form) * word;
  const std::int64_t share = std::clamp(all / (boxes_at_once * costs.device.multiprocessors), least_box_bytes, most);
  const auto cut_in_order = [&](std::int64_t run_side, std::int64_t line_side, bool run_descends) {
    assemble_box made;
    for (std::int64_t bytes = share; bytes >= 64 * word; bytes /= 2) {
      box_axes axes(form, bytes / word,
                    {.descending_run = run_descends, .descending_line = false, .bridged = bridged_bytes / word});
      axes.grow(std::max<std::int64_t>(1, run_side / word), std::max<std::int64_t>(1, line_side / word));
      axes.even_out();
      made = layout(axes, words, fused, on).make(most_shared_bytes);
      if (axes.lengthen_line(most_short_line_bytes / word)) {
        const assemble_box longer = layout(axes, words, fused, on).make(most_shared_bytes);
        if (longer.blocks > 0 && (made.blocks == 0 || longer.cost < made.cost)) made = longer;
      }
      const bool fits = made.gaps <= 1 || made.shared_bytes <= 2 * share;
      if (!made.is_too_large && fits) break;  // the padding of many short runs may not fit
    }
    return made;
  };
  const bool descends =
      std::any_of(form.axes.begin(), form.axes.begin() + form.rank, [](const axis& one) { return one.src_stride < 0; });
  const auto cut = [&](std::int64_t run_side, std::int64_t line_side) {
    const assemble_box made = cut_in_order(run_side, line_side, descends);
    return made.blocks > 0 || !descends ? made : cut_in_order(run_side, line_side, false);
  };
  const assemble_box made = cut(costs.side_bytes, costs.side_bytes);
  if (made.halo_part < long_halo_part) return made;
  const assemble_box longer = cut(costs.side_bytes / 2, costs.side_bytes * 2);
  return longer.blocks > 0 && longer.cost < made.cost ? longer : made;
}

}  // namespace cornerturn::gpu
