#include "kernels/gpu/gather/cut.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.hpp"
#include "kernels/gpu/gather/pitch.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

constexpr std::int64_t sector = 32;  // bytes

// The axes of a run, or of a line, fastest first. All but the last are whole.
struct walk {
  std::int64_t axis::*stride;
  std::array<int, max_gather_axes> axes{};
  int count = 0;
  [[nodiscard]] bool has(int k) const noexcept {
    return std::find(axes.begin(), axes.begin() + count, k) != axes.begin() + count;
  }
  void add(int k) noexcept { axes[count++] = k; }
};

class cutter {
 public:
  cutter(const map::canonical& form, std::int64_t most_elements, int alignment) noexcept
      : form_(form), most_(most_elements), alignment_(alignment) {
    tile_.fill(1);
  }

  // Extends runs and lines alternately up to `side` elements, so that neither takes all of shared memory. Then it
  // extends lines and runs further, and last it adds axes that are in neither.
  void grow(std::int64_t side) noexcept {
    for (std::int64_t target = std::min<std::int64_t>(side, 8); target <= side; target *= 2) {
      extend(run_, target);
      extend(line_, target);
    }
    for (std::int64_t target = 2 * side; elements() < most_ && target <= 2 * most_; target *= 2) {
      if (cut(line_)) extend(line_, target);  // another axis would only lengthen the table of a piece
      extend(run_, target);
    }
    for (int k = form_.rank - 1; k >= 0 && others_ < max_gather_axes / 2; --k) {
      if (run_.has(k) || line_.has(k)) continue;
      const std::int64_t room = most_ / elements();
      const std::int64_t extent = form_.axes[k].extent;
      if (room < 2) break;
      if (extent > room && (cut(run_) || cut(line_) || other_is_cut_)) continue;
      if (run_.count + others_ >= max_gather_axes - line_.count) break;
      set_tile(k, std::min(extent, room));
      other_[others_++] = k;
      other_is_cut_ = tile_[k] < extent;
    }
  }

  box finish(std::int64_t most_shared_bytes) const noexcept;

 private:
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  void set_tile(int k, std::int64_t indices) noexcept {
    elements_ = elements_ / tile_[k] * indices;
    tile_[k] = indices;
  }
  [[nodiscard]] std::int64_t elements(const walk& one) const noexcept {
    std::int64_t product = 1;
    for (int k = 0; k < one.count; ++k) product *= tile_[one.axes[k]];
    return product;
  }
  [[nodiscard]] bool whole(int k) const noexcept { return tile_[k] == form_.axes[k].extent; }
  [[nodiscard]] bool cut(const walk& one) const noexcept { return one.count > 0 && !whole(one.axes[one.count - 1]); }

  // The axis that continues a walk without a gap; the first axis is the one with the smallest stride. -1: there is
  // none.
  [[nodiscard]] int next(const walk& one) const noexcept {
    int best = -1;
    for (int k = 0; k < form_.rank; ++k) {
      const std::int64_t stride = magnitude(form_.axes[k].*one.stride);
      if (stride == 0 || one.has(k)) continue;
      if (one.count > 0) {
        const axis& last = form_.axes[one.axes[one.count - 1]];
        std::int64_t continued = 0;
        if (!base::checked_mul(magnitude(last.*one.stride), last.extent, continued) || stride != continued) continue;
      }
      if (best < 0 || stride < magnitude(form_.axes[best].*one.stride)) best = k;
    }
    return best;
  }

  void extend(walk& one, std::int64_t target) noexcept {
    while (elements(one) < target) {
      if (cut(one)) {
        const int k = one.axes[one.count - 1];
        // Whole sectors, so that the next box begins at a sector. Words of 16 bytes lose by it: 31 x 33 of them reach
        // 0.76 of a copy with whole sectors, 0.94 without (H200, 2026-11-21).
        const std::int64_t each = elements(one) / tile_[k];
        const std::int64_t step = form_.word_bytes == 16 ? 1 : sector / std::gcd(each * form_.word_bytes, sector);
        const std::int64_t wanted = ceil_div(ceil_div(target, each), step) * step;
        std::int64_t room = most_ / (elements() / tile_[k]);
        if (room > step) room -= room % step;
        const std::int64_t grown = std::min({form_.axes[k].extent, wanted, room});
        if (grown <= tile_[k]) return;
        set_tile(k, grown);
        if (!whole(k)) return;
        continue;
      }
      const int k = next(one);
      if (k < 0 || one.count >= max_gather_axes / 2) return;
      one.add(k);
    }
  }

  [[nodiscard]] bool contiguous(const walk& one) const noexcept {
    return one.count == 0 || magnitude(form_.axes[one.axes[0]].*one.stride) == 1;
  }

  // The axes of the box in the order of `first`, then the others. The axis that the grid may cut comes last.
  [[nodiscard]] walk whole_order(const walk& first) const noexcept {
    walk all = first;
    int last = -1;
    const auto take = [&](int k) {
      if (all.has(k) || form_.axes[k].*first.stride == 0) return;
      if (whole(k)) {
        all.add(k);
      } else {
        last = k;
      }
    };
    for (int i = 0; i < run_.count; ++i) take(run_.axes[i]);
    for (int i = 0; i < line_.count; ++i) take(line_.axes[i]);
    for (int i = 0; i < others_; ++i) take(other_[i]);
    if (last >= 0) all.add(last);
    return all;
  }

  // True when every line of every box begins at a multiple of four bytes.
  [[nodiscard]] bool lines_begin_words() const noexcept {
    bool all = alignment_ % 4 == 0;
    for (int k = 0; k < form_.rank; ++k) {
      const std::int64_t step = form_.axes[k].dst_stride * form_.word_bytes * (line_.has(k) ? tile_[k] : 1);
      all = all && form_.axes[k].dst_stride > 0 && (step % 4 == 0 || (line_.has(k) && whole(k)));
    }
    return all;
  }

  // Chooses all arguments. The first `row_axes` axes of a run make a row; in shared memory, padding follows each row.
  [[nodiscard]] box lay_out(int row_axes, std::int64_t most_shared_bytes, int& conflicts) const noexcept;

  const map::canonical& form_;
  std::int64_t most_;
  int alignment_;  // of the addresses of index 0, in bytes
  std::array<std::int64_t, map::max_axes> tile_{};
  std::int64_t elements_ = 1;  // the product of all tiles
  walk run_{&axis::src_stride};
  walk line_{&axis::dst_stride};
  std::array<int, max_gather_axes> other_{};
  int others_ = 0;
  bool other_is_cut_ = false;
};

// Runs of narrow elements may be cut into rows of whole words, with padding after each row.
box cutter::finish(std::int64_t most_shared_bytes) const noexcept {
  constexpr int few_conflicts = 2;
  int fewest = INT32_MAX;
  box best = lay_out(run_.count, most_shared_bytes, fewest);
  best.conflicts = fewest;
  walk row = run_;
  while (--row.count > 0 && fewest > few_conflicts && form_.word_bytes < 4 && contiguous(run_)) {
    const std::int64_t bytes = elements(row) * form_.word_bytes;
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
  const walk src = whole_order(run_);
  const walk dst = whole_order(line_);
  const int cut_run = cut(run_) ? run_.axes[run_.count - 1] : other_is_cut_ ? other_[others_ - 1] : -1;
  const int cut_line = cut(line_) && line_.axes[line_.count - 1] != cut_run ? line_.axes[line_.count - 1] : -1;
  const auto slot_of = [&](int k) { return k == cut_run ? 0 : k == cut_line ? 1 : -1; };

  args.run_is_contiguous = contiguous(run_) ? 1 : 0;
  args.line_is_contiguous = contiguous(line_) ? 1 : 0;
  args.run_axes = run_.count;
  args.line_axes = line_.count;
  args.src_rank = src.count;
  args.dst_rank = dst.count;
  args.run_elements = static_cast<std::int32_t>(elements(run_));
  args.line_elements = static_cast<std::int32_t>(elements(line_));
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
                        .tile = map::fast_divisor(static_cast<std::uint32_t>(tile_[k])),
                        .slot = slot_of(k),
                        .from_end = one.src_stride < 0 ? 1 : 0};
    std::int32_t& grown = i < row_axes ? row_bytes : rows;
    (i < row_axes ? in_row : by_row)[k] = grown;
    grown *= static_cast<std::int32_t>(tile_[k]);
    if (i < run_.count) continue;
    args.runs *= static_cast<std::int32_t>(tile_[k]);
    equally_misaligned = equally_misaligned && one.src_stride * word % 16 == 0;
  }
  for (int i = 0; i < dst.count; ++i) {
    const int k = dst.axes[i];
    const axis& one = form_.axes[k];
    args.dst_axes[i] = {.dst_stride_bytes = magnitude(one.dst_stride) * word,
                        .tile = map::fast_divisor(static_cast<std::uint32_t>(tile_[k])),
                        .slot = slot_of(k),
                        .smem_stride = by_row[k] > 0 ? by_row[k] : in_row[k],
                        .from_end = one.dst_stride < 0 ? 1 : 0,
                        .opposite = (one.src_stride < 0) != (one.dst_stride < 0) && one.src_stride != 0 ? 1 : 0};
    if (i >= line_.count) args.lines *= static_cast<std::int32_t>(tile_[k]);
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
  args.line_lanes = lanes_along(per_lane(line_words), args.lines, packed ? (word == 1 ? 3 : 4) : 5);
  std::array<bool, max_gather_axes> counts_rows{};
  for (int i = 0; i < dst.count; ++i) counts_rows[i] = by_row[dst.axes[i]] > 0;
  const std::int64_t run_bytes = args.run_elements * word;
  const bool whole_rows = row_axes == run_.count;
  conflicts =
      choose_pitch(args, static_cast<int>(word), row_bytes, counts_rows,
                   equally_misaligned && whole_rows && args.run_is_contiguous != 0 && word < 16 && run_bytes >= 64);
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
  args.run_lanes = lanes_along(per_lane(run_words), args.runs, 5);
  const auto chunks = [](std::int64_t words, int lanes) {
    return map::fast_divisor(static_cast<std::uint32_t>(ceil_div(words, std::int64_t{gather_steps} << lanes)));
  };
  args.line_chunks = chunks(line_words, args.line_lanes);
  args.run_chunks = chunks(run_words, args.run_lanes);
  const auto count_of = [&](const walk& all, int first, int last, std::int32_t whole) {
    gather_count made_count{whole, -1};
    for (int i = first; i < last; ++i) {
      if (slot_of(all.axes[i]) < 0) continue;
      made_count = {whole / static_cast<std::int32_t>(tile_[all.axes[i]]), slot_of(all.axes[i])};
    }
    return made_count;
  };
  args.run_element_count = count_of(src, 0, run_.count, args.run_elements);
  args.run_count = count_of(src, run_.count, src.count, args.runs);
  args.line_element_count = count_of(dst, 0, line_.count, args.line_elements);
  args.line_count = count_of(dst, line_.count, dst.count, args.lines);
  for (int i = 0; i < src.count; ++i) args.reversed |= args.src_axes[i].from_end;
  for (int i = 0; i < dst.count; ++i) args.reversed |= args.dst_axes[i].from_end | args.dst_axes[i].opposite;

  // A piece is all but the last axis of a line, and enough indices of the last axis for 32 entries and whole words of
  // dst. A line that is one piece may end within a word.
  const std::int64_t of_word = packed ? 4 / word : 1;
  if (line_.count > 0) {
    const gather_axis& last = args.dst_axes[line_.count - 1];
    const std::int64_t each = args.line_elements / last.tile.divisor;
    const std::int64_t step = of_word / std::gcd(each, of_word);
    const std::int64_t indices = std::min<std::int64_t>(last.tile.divisor, ceil_div(32 * of_word, each * step) * step);
    args.piece = map::fast_divisor(static_cast<std::uint32_t>(ceil_div(each * indices, of_word)));
    args.piece_smem_stride = static_cast<std::int32_t>(indices * last.smem_stride);
    args.piece_dst_stride = indices * last.dst_stride_bytes;
  }
  for (int i = line_.count; packed && i < dst.count; ++i) {
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
    const std::int64_t count = ceil_div(one.extent, tile_[k]);
    const int slot = slot_of(k);
    if (slot >= 0) {
      blocks.extent[slot] = one.extent;
      blocks.tile[slot] = static_cast<std::int32_t>(tile_[k]);
    }
    if (count == 1) continue;
    if (count > INT32_MAX) return made;
    grid_axis added;
    added.count = map::fast_divisor(static_cast<std::uint32_t>(count));
    if (slot >= 0) added.tiles[slot] = 1;
    added.src_step_bytes = tile_[k] * one.src_stride * word;
    added.dst_step_bytes = tile_[k] * one.dst_stride * word;
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
            const device_costs& costs) noexcept {
  const std::int64_t word = form.word_bytes;
  const int size = word == 1 ? 0 : word == 2 ? 1 : word == 4 ? 2 : word == 8 ? 3 : 4;
  box made;
  // The tables of many short runs may not fit beside the box. Then a smaller box is cut.
  for (std::int64_t bytes = costs.gather_bytes[size]; bytes >= 64 * word; bytes /= 2) {
    cutter cut(form, bytes / word, alignment);
    cut.grow(std::max<std::int64_t>(1, costs.side_bytes / word));
    made = cut.finish(most_shared_bytes);
    if (made.blocks > 0) return made;
  }
  return made;
}

}  // namespace cornerturn::gpu
