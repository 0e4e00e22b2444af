#include "kernels/gpu/gather/cut.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.hpp"
#include "kernels/gpu/gather/pitch.hpp"
#include "kernels/gpu/policy/box_axes.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

class cutter {
 public:
  cutter(const box_axes& axes, int alignment, int lanes) noexcept
      : axes_(axes), form_(axes.form()), run_(short_run(axes)), alignment_(alignment), lanes_(lanes) {}

  box finish(std::int64_t most_shared_bytes) const noexcept;

 private:
  // A table has an offset for each element of a run whose elements are apart, so the axes behind the first few elements number runs.
  // Every 8th element of 2 bytes, 12 x 1269192: 196 us with runs of 16368 elements, 90 us with runs of 12 (H200, 2026-11-30). At most
  // one axis that is cut can number runs.
  [[nodiscard]] static box_walk short_run(const box_axes& axes) noexcept {
    constexpr std::int64_t few_elements = 8;
    box_walk run = axes.run();
    if (axes.contiguous(run) || (axes.cut_of_run() >= 0 && axes.cut_of_line() >= 0)) return run;
    for (box_walk less = run; --less.count > 0 && axes.elements(less) >= few_elements;) run = less;
    return run;
  }
  // True when every line of every box begins at a multiple of four bytes.
  [[nodiscard]] bool lines_begin_words() const noexcept {
    bool all = alignment_ % 4 == 0;
    for (int k = 0; k < form_.rank; ++k) {
      const std::int64_t step = form_.axes[k].dst_stride * form_.word_bytes * (axes_.line().has(k) ? axes_.tile(k) : 1);
      all = all && form_.axes[k].dst_stride > 0 && (step % 4 == 0 || (axes_.line().has(k) && axes_.whole(k)));
    }
    return all;
  }

  // Chooses all arguments. The first `row_axes` axes of a run make a row; in shared memory, padding follows each row.
  [[nodiscard]] box lay_out(int row_axes, std::int64_t most_shared_bytes, int& conflicts) const noexcept;

  const box_axes& axes_;
  const map::canonical& form_;
  box_walk run_;   // shorter than the one of axes_ where its elements are apart
  int alignment_;  // of the addresses of index 0, in bytes
  int lanes_;      // of a warp
};

// Runs of narrow elements may be cut into rows of whole words, with padding after each row.
box cutter::finish(std::int64_t most_shared_bytes) const noexcept {
  constexpr int few_conflicts = 2;
  int fewest = INT32_MAX;
  box best = lay_out(run_.count, most_shared_bytes, fewest);
  best.conflicts = fewest;
  box_walk row = run_;
  while (--row.count > 0 && fewest > few_conflicts && form_.word_bytes < 4 && axes_.contiguous(run_)) {
    const std::int64_t bytes = axes_.elements(row) * form_.word_bytes;
    if (bytes % 4 != 0 || bytes < 8) continue;
    int conflicts = 0;
    const box made = lay_out(row.count, most_shared_bytes, conflicts);
    if (made.blocks != 0 && conflicts < fewest) best = made, best.conflicts = fewest = conflicts;
  }
  return best;
}

box cutter::lay_out(int row_axes, std::int64_t most_shared_bytes, int& conflicts) const noexcept {
  box made;
  gather_args& args = made.args;
  const std::int64_t word = form_.word_bytes;
  const box_walk &run = run_, &line = axes_.line();
  const box_walk src = axes_.whole_order(run);
  const box_walk dst = axes_.whole_order(line);
  const int cut_run = axes_.cut_of_run(), cut_line = axes_.cut_of_line();
  const auto slot_of = [&](int k) { return k == cut_run ? 0 : k == cut_line ? 1 : -1; };

  args.run_is_contiguous = axes_.contiguous(run) ? 1 : 0;
  args.line_is_contiguous = axes_.contiguous(line) ? 1 : 0;
  args.run_axes = run.count;
  args.line_axes = line.count;
  args.src_rank = src.count;
  args.dst_rank = dst.count;
  args.run_elements = static_cast<std::int32_t>(axes_.elements(run));
  args.line_elements = static_cast<std::int32_t>(axes_.elements(line));
  args.runs = args.lines = 1;
  std::array<std::int32_t, map::max_axes> in_row{};  // bytes from one index to the next within a row, or
  std::array<std::int32_t, map::max_axes> by_row{};  // rows
  std::int32_t row_bytes = static_cast<std::int32_t>(word);
  std::int32_t rows = 1;
  bool equally_misaligned = true;  // all runs
  for (int i = 0; i < src.count; ++i) {
    const int k = src.axes[i];
    const axis& one = form_.axes[k];
    args.src_axes[i] = {.src_stride_bytes = magnitude(one.src_stride) * word,
                        .tile = map::fast_divisor(static_cast<std::uint32_t>(axes_.tile(k))),
                        .slot = slot_of(k),
                        .from_end = one.src_stride < 0 ? 1 : 0};
    std::int32_t& grown = i < row_axes ? row_bytes : rows;
    (i < row_axes ? in_row : by_row)[k] = grown;
    grown *= static_cast<std::int32_t>(axes_.tile(k));
    if (i < run.count) continue;
    args.runs *= static_cast<std::int32_t>(axes_.tile(k));
    equally_misaligned = equally_misaligned && one.src_stride * word % 16 == 0;
  }
  for (int i = 0; i < dst.count; ++i) {
    const int k = dst.axes[i];
    const axis& one = form_.axes[k];
    args.dst_axes[i] = {.dst_stride_bytes = magnitude(one.dst_stride) * word,
                        .tile = map::fast_divisor(static_cast<std::uint32_t>(axes_.tile(k))),
                        .slot = slot_of(k),
                        .smem_stride = by_row[k] > 0 ? by_row[k] : in_row[k],
                        .from_end = one.dst_stride < 0 ? 1 : 0,
                        .opposite = (one.src_stride < 0) != (one.dst_stride < 0) && one.src_stride != 0 ? 1 : 0};
    if (i >= line.count) args.lines *= static_cast<std::int32_t>(axes_.tile(k));
  }

  const bool packed = word < 4 && args.line_is_contiguous != 0;
  const std::int64_t line_bytes = args.line_elements * word;
  args.line_mask = line_bytes >= 256 ? 31 : 3;
  const std::int64_t before = args.line_mask == 3 && lines_begin_words() ? 0 : args.line_mask;
  const std::int64_t line_words = packed ? ceil_div(line_bytes + before, 4) : args.line_elements;
  // A lane copies several words of a short run or line. Shares of a copy with one word a lane, and with several:
  // 64 x 1171873 float32 0.70 and 0.80, 8 x 8 of 2 bytes with gaps 0.26 and 0.36. Wide words gain only if they are few:
  // 40 x 40 x 36 x 36 x 10 of 16 bytes 0.69 and 0.88, but 9999 x 7001 0.93 and 0.84 (H200, 2026-11-21).
  const auto per_lane = [word](std::int64_t words) {
    return word <= 4 || words * word < 256 ? ceil_div(words, gather_steps) : words;
  };
  // Lanes along one line of bytes would use a quarter of the banks, and of two-byte elements a half. So some lanes go
  // across lines, whose elements are neighbours in one word of shared memory.
  const int warp_log2 = std::countr_zero(static_cast<unsigned>(lanes_));
  // A sector of dst is stored in one step of its warp. With gaps behind pieces of 8 to 48 bytes this takes 0.45 to 0.75 of
  // the time of four steps; with 4 and 6 bytes 1 to 1.3 (H200, 2026-11-30).
  const std::int64_t sector_words =
      args.line_is_contiguous != 0 && line_bytes >= 8 ? std::min(line_words, 32 / (packed ? 4 : word)) : 1;
  args.line_lanes = lanes_along(std::max(per_lane(line_words), sector_words), args.lines,
                                warp_log2 - (packed ? (word == 1 ? 2 : 1) : 0), warp_log2);
  std::array<bool, max_gather_axes> counts_rows{};
  for (int i = 0; i < dst.count; ++i) counts_rows[i] = by_row[dst.axes[i]] > 0;
  const std::int64_t run_bytes = args.run_elements * word;
  const bool whole_rows = row_axes == run.count;
  conflicts = choose_pitch(
      args, static_cast<int>(word), row_bytes, counts_rows,
      equally_misaligned && whole_rows && args.run_is_contiguous != 0 && word < 16 && run_bytes >= 64, lanes_);
  for (int i = 0; i < dst.count; ++i) {
    gather_axis& axis = args.dst_axes[i];
    if (counts_rows[i]) axis.smem_stride *= args.pitch;
    if (axis.opposite != 0) axis.smem_stride = -axis.smem_stride;
  }
  if (!whole_rows) {
    args.row = map::fast_divisor(static_cast<std::uint32_t>(row_bytes / 4));
    args.row_pad = args.pitch - row_bytes;
    args.pitch *= args.run_elements * static_cast<std::int32_t>(word) / row_bytes;
  }
  const std::int64_t run_words = args.in_chunks != 0           ? ceil_div(run_bytes + 16 - word, 16)
                                 : args.run_is_contiguous == 0 ? args.run_elements
                                                               : ceil_div(run_bytes, std::max<std::int64_t>(word, 4));
  args.run_lanes = lanes_along(per_lane(run_words), args.runs, warp_log2, warp_log2);
  const auto chunks = [](std::int64_t words, int lanes) {
    return map::fast_divisor(static_cast<std::uint32_t>(ceil_div(words, std::int64_t{gather_steps} << lanes)));
  };
  args.line_chunks = chunks(line_words, args.line_lanes);
  args.run_chunks = chunks(run_words, args.run_lanes);
  const auto count_of = [&](const box_walk& all, int first, int last, std::int32_t whole) {
    gather_count made_count{whole, -1};
    for (int i = first; i < last; ++i) {
      if (slot_of(all.axes[i]) < 0) continue;
      made_count = {whole / static_cast<std::int32_t>(axes_.tile(all.axes[i])), slot_of(all.axes[i])};
    }
    return made_count;
  };
  args.run_element_count = count_of(src, 0, run.count, args.run_elements);
  args.run_count = count_of(src, run.count, src.count, args.runs);
  args.line_element_count = count_of(dst, 0, line.count, args.line_elements);
  args.line_count = count_of(dst, line.count, dst.count, args.lines);
  for (int i = 0; i < src.count; ++i) args.reversed |= args.src_axes[i].from_end;
  for (int i = 0; i < dst.count; ++i) args.reversed |= args.dst_axes[i].from_end | args.dst_axes[i].opposite;

  // A piece is all but the last axis of a line, and enough indices of the last axis for an entry of each lane and whole words of
  // dst. A line that is one piece may end within a word.
  const std::int64_t of_word = packed ? 4 / word : 1;
  if (line.count > 0) {
    const gather_axis& last = args.dst_axes[line.count - 1];
    const std::int64_t each = args.line_elements / last.tile.divisor;
    const std::int64_t step = of_word / std::gcd(each, of_word);
    const std::int64_t indices =
        std::min<std::int64_t>(last.tile.divisor, ceil_div(lanes_ * of_word, each * step) * step);
    args.piece = map::fast_divisor(static_cast<std::uint32_t>(ceil_div(each * indices, of_word)));
    args.piece_smem_stride = static_cast<std::int32_t>(indices * last.smem_stride);
    args.piece_dst_stride = indices * last.dst_stride_bytes;
  }
  for (int i = line.count; packed && i < dst.count; ++i) {
    if (args.dst_axes[i].dst_stride_bytes % 4 != 0) args.line_shifts = static_cast<std::int32_t>(of_word);
  }
  const std::int64_t piece = args.piece.divisor;
  const std::int64_t dense = std::int64_t{args.pitch} * args.runs;
  args.tables = static_cast<std::int32_t>(ceil_div(dense + (dense >> 7) * args.skew + 16, 16) * 16);
  args.smem_entries = static_cast<std::int32_t>(packed ? args.line_shifts * of_word * piece : piece + (piece & 1));
  const std::int64_t tables = 4 * (std::int64_t{args.smem_entries} + args.lines) +
                              8 * (std::int64_t{args.runs} + (args.run_is_contiguous != 0 ? 0 : args.run_elements) +
                                   args.lines + (args.line_is_contiguous != 0 ? 0 : piece));
  made.shared_bytes = static_cast<int>(std::min<std::int64_t>(args.tables + tables, INT32_MAX));
  if (made.shared_bytes > most_shared_bytes) return made;

  grid& blocks = args.blocks;
  for (int k = form_.rank - 1; k >= 0; --k) {
    const axis& one = form_.axes[k];
    const std::int64_t count = ceil_div(one.extent, axes_.tile(k));
    const int slot = slot_of(k);
    if (slot >= 0) {
      blocks.extent[slot] = one.extent;
      blocks.tile[slot] = static_cast<std::int32_t>(axes_.tile(k));
    }
    if (count == 1) continue;
    if (count > INT32_MAX) return made;
    grid_axis added;
    added.count = map::fast_divisor(static_cast<std::uint32_t>(count));
    if (slot >= 0) added.tiles[slot] = 1;
    added.src_step_bytes = axes_.tile(k) * one.src_stride * word;
    added.dst_step_bytes = axes_.tile(k) * one.dst_stride * word;
    int at = blocks.rank++;  // the smallest step in dst first, so that consecutive blocks complete lines of dst
    for (; at > 0 && magnitude(blocks.axes[at - 1].dst_step_bytes) > magnitude(added.dst_step_bytes); --at) {
      blocks.axes[at] = blocks.axes[at - 1];
    }
    blocks.axes[at] = added;
  }
  std::int64_t all = 1;
  for (int k = 0; k < blocks.rank; ++k) {
    if (!base::checked_mul(all, blocks.axes[k].count.divisor, all) || all > INT32_MAX) return made;
  }
  made.blocks = static_cast<std::uint32_t>(all);
  return made;
}

}  // namespace

box cut_box(const map::canonical& form, std::int64_t most_shared_bytes, int alignment,
            const kernels::target& on) noexcept {
  const std::int64_t word = form.word_bytes;
  const int size = word == 1 ? 0 : word == 2 ? 1 : word == 4 ? 2 : word == 8 ? 3 : 4;
  box made;
  // The tables of many short runs may not fit beside the box. Then a smaller box is cut.
  for (std::int64_t bytes = on.gpu->gather_bytes[size]; bytes >= 64 * word; bytes /= 2) {
    box_axes axes(form, bytes / word);
    axes.grow(std::max<std::int64_t>(1, on.gpu->side_bytes / word));
    made = cutter(axes, alignment, on.lanes).finish(most_shared_bytes);
    for (int k = 0; k < form.rank; ++k) made.tile[k] = axes.tile(k);
    if (made.blocks > 0) return made;
  }
  return made;
}

}  // namespace cornerturn::gpu
