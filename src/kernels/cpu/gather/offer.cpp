// Offers for elements that register blocks cannot take, and for boxes of short axes.
#include <algorithm>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/gather/args.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::gather {
namespace {

// Of an item that is an element. Longer ones are copied in pieces of several windows each.
constexpr std::int64_t most_shuffled_bytes = 512;
constexpr double packed_row_bytes = 26;  // overhead of a row of packed runs, in bytes that a copy would move

void finish(offer& made, const blocking& work, const facts& known, const cpu_costs& costs, double time) noexcept {
  share_out(made, known, costs, work.units());
  made.time = time + (work.streaming ? 0 : costs.times.buffered_in_cache);
  if (has_rows_and_columns(known)) {
    made.time = with_short_runs(made.time, work, known);
  } else {
    made.time += short_far_rows(work) + std::max(roof_of(known.form) - 1, 0.0);
  }
  if (!work.streaming) made.time += elements_start_bytes / static_cast<double>(known.bytes);
  made.binds = bound::requests;
}

// Elements one by one, into runs that are written piece by piece.
double by_panels(const blocking& work, const facts& known, const cpu_times& times) noexcept {
  return times.gather + times.gather_bytes / static_cast<double>(work.element_bytes) +
         (has_rows_and_columns(known) ? 0.5 : 0);
}

// Packed runs: blocks of whole elements in registers, as cpu_stream_elements has them, or elements one by one. Either is stored to a
// buffer and copied from there. 188 problems of 3 to 32 bytes differ from this by a factor of 1.23, in a root mean square (Emerald
// Rapids, 2026-11-30).
double by_packed_runs(const packed_args& work, const target& on) noexcept {
  const cpu_times& times = costs_of(on).times;
  const std::int64_t e = work.element_bytes, cols = work.cols.total;
  const auto bytes = static_cast<double>(e);
  const auto side = static_cast<std::int64_t>(element_block_side(static_cast<std::size_t>(e)));
  const double rows = packed_row_bytes / static_cast<double>(cols * e);
  const bool in_registers =
      work.src_col_bytes == e && turns_in_registers(on.cpu->simd, e) && 2 * work.rows.total > side;
  if (!in_registers) return times.packed + times.packed_bytes / bytes + rows;
  const auto blocks = static_cast<double>(base::ceil_div(cols, side) * side) / static_cast<double>(cols);
  return times.elements + 0.5 + (times.elements_bytes + 1 + 0.3 * (blocks - 1)) / bytes + rows;
}

// Elements of a box have at most so many bytes.
constexpr std::int64_t most_box_element = 64;
constexpr std::int64_t boxes_ahead_bytes = 8192;  // of src
constexpr std::int64_t cols_ahead_bytes = 1024;   // of dst: 34 problems 0.22, 0.23 with it (Zen 4, 2026-11-25)

// Axes that are contiguous in src or in dst one after another, until they are long enough. Longer axes are cut.
struct box_chain {
  std::array<int, map::max_axes> axes{};
  int count = 0;
  int cut = -1;  // the last axis, if it is cut

  [[nodiscard]] bool has(int k) const noexcept {
    return std::find(axes.begin(), axes.begin() + count, k) != axes.begin() + count;
  }
};

// The axes of a box whose runs have `most` bytes in src and in dst, or a half more.
class box_axes {
 public:
  box_axes(const map::canonical& form, std::int64_t unit, std::int64_t most) noexcept
      : form_(form), unit_(unit), most_(most) {
    tile_.fill(1);
    src_ = chain(&axis::src_stride);
    dst_ = chain(&axis::dst_stride);
    for (box_chain* const one : {&src_, &dst_}) {  // the other array may need the whole axis
      if (one->cut >= 0 && tile_[at(one->cut)] == form.axes[at(one->cut)].extent) one->cut = -1;
    }
    if (src_.cut == dst_.cut) src_.cut = -1;
    element_ = unit * form.word_bytes;
    run_bytes_ = bytes_of(src_);
    dst_run_bytes_ = bytes_of(dst_);
    for (int i = 0; i < dst_.count; ++i) runs_ *= src_.has(dst_.axes[at(i)]) ? 1 : tile_[at(dst_.axes[at(i)])];
    pitch_ = base::ceil_div(run_bytes_, std::int64_t{64}) * 64;
  }

  [[nodiscard]] std::int64_t bytes() const noexcept { return pitch_ * runs_; }
  [[nodiscard]] std::int64_t run_bytes() const noexcept { return run_bytes_; }
  [[nodiscard]] std::int64_t dst_run_bytes() const noexcept { return dst_run_bytes_; }

  void fill(box_args& work) const noexcept {
    work.word_bytes = form_.word_bytes;
    work.element_bytes = element_;
    work.run_bytes = run_bytes_;
    work.pitch = pitch_;
    std::array<std::int64_t, map::max_axes> in_buffer{};
    std::int64_t bytes = element_;
    for (int i = 0; i < src_.count; ++i) step(src_.axes[at(i)], in_buffer, bytes);
    bytes = pitch_;
    for (int i = 0; i < dst_.count; ++i) {
      const int k = dst_.axes[at(i)];
      if (src_.has(k)) continue;
      step(k, in_buffer, bytes);
      work.runs.push({tile_[at(k)], form_.axes[at(k)].src_stride, 0});
    }
    const auto inside = [&](int k) { return axis{tile_[at(k)], in_buffer[at(k)], form_.axes[at(k)].dst_stride}; };
    // The table of rows stays short: the last axis counts columns if src made it long.
    int rows = dst_.count;
    if (rows > 1 && dst_.cut < 0 && dst_run_bytes_ > 2 * most_) --rows;
    for (int i = 0; i < dst_.count; ++i) (i < rows ? work.rows : work.cols).push(inside(dst_.axes[at(i)]));
    for (int i = 0; i < src_.count; ++i) {
      if (!dst_.has(src_.axes[at(i)])) work.cols.push(inside(src_.axes[at(i)]));
    }
    work.cut_row_is_in_run = dst_.cut >= 0 && src_.has(dst_.cut);
    for (int k = 0; k < form_.rank; ++k) {
      const axis& one = form_.axes[at(k)];
      const bool is_element = unit_ > 1 && one.dst_stride == 1;
      if (!is_element && !src_.has(k) && !dst_.has(k)) work.outer.push(one);
    }
    cut(src_.cut, work.col_cut, work.outer);
    cut(dst_.cut, work.row_cut, work.outer);
  }

 private:
  static constexpr std::size_t at(int k) noexcept { return static_cast<std::size_t>(k); }

  box_chain chain(std::int64_t axis::*stride) noexcept {
    box_chain made;
    std::int64_t words = unit_, next = unit_;
    while (words * form_.word_bytes < most_) {
      int k = 0;
      while (k < form_.rank && (form_.axes[at(k)].*stride != next || form_.axes[at(k)].extent == 1)) ++k;
      if (k == form_.rank) break;
      const std::int64_t extent = form_.axes[at(k)].extent;
      made.axes[at(made.count++)] = k;
      std::int64_t& tile = tile_[at(k)];
      if (extent > (most_ + most_ / 2) / (words * form_.word_bytes)) {
        const std::int64_t boxes = base::ceil_div(extent, base::ceil_div(most_, words * form_.word_bytes));
        tile = std::max(tile, base::ceil_div(extent, boxes));
        made.cut = k;
        break;
      }
      tile = extent;
      words *= extent;
      next *= extent;
    }
    return made;
  }
  [[nodiscard]] std::int64_t bytes_of(const box_chain& one) const noexcept {
    std::int64_t bytes = element_;
    for (int i = 0; i < one.count; ++i) bytes *= tile_[at(one.axes[at(i)])];
    return bytes;
  }
  void step(int k, std::array<std::int64_t, map::max_axes>& in_buffer, std::int64_t& bytes) const noexcept {
    in_buffer[at(k)] = bytes;
    bytes *= tile_[at(k)];
  }
  void cut(int k, box_cut& made, fused_axes& outer) const noexcept {
    if (k < 0) return;
    const axis& one = form_.axes[at(k)];
    made.tile = tile_[at(k)];
    made.boxes = base::ceil_div(one.extent, made.tile);
    made.last = one.extent - (made.boxes - 1) * made.tile;
    outer.push({made.boxes, one.src_stride * made.tile, one.dst_stride * made.tile});
  }

  const map::canonical& form_;
  std::int64_t unit_, most_;
  std::int64_t element_ = 1, run_bytes_ = 1, dst_run_bytes_ = 1, runs_ = 1, pitch_ = 1;
  std::array<std::int64_t, map::max_axes> tile_{};
  box_chain src_, dst_;
};

// True if every dst run of every box begins and ends at a line, provided that dst does.
bool stores_whole_lines(const box_args& work) noexcept {
  return steps_are_lines(work.cols, work.word_bytes) && steps_are_lines(work.outer, work.word_bytes) &&
         work.rows.total * work.element_bytes % 64 == 0;
}

}  // namespace

bool offer_elements(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const std::int64_t unit = element_words(known);
  if (unit == 0) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<elements_args>();
  split(work, known, on, unit, true);
  cut_panels(work, costs);
  cut_rows(work, known, costs);
  // 64 x 3166 x 44 float32, axes 102: 0.28 of a copy, copy_runs 0.67 (Zen 4, 2026-11-24).
  finish(made, work, known, costs,
         by_panels(work, known, costs.times) + unit_starts(work, costs) + (work.element_bytes > 64 ? 2 : 0));
  made.reason = unit > 1 ? "short inner runs that are contiguous on both sides: each is copied as one wide element"
                         : "elements are copied one by one, and dst is written in whole lines";
  return true;
}

bool offer_packed(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const std::int64_t unit = element_words(known);
  if (unit == 0) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<packed_args>();
  split(work, known, on, unit, true);
  // 616 x 6295 of 6 bytes: 0.31, panels 0.26; 118 x 123988 of 3 bytes: 0.31, panels 0.21 (Zen 3, 2026-11-25).
  const std::int64_t most = reads_long_rows(work, costs) ? 4096 : costs.end_to_end_bytes;
  if (work.rows.total * work.element_bytes > most || work.rows.total > packed_rows || !columns_end_to_end(work)) {
    return false;
  }
  cut_packed(work, costs);
  finish(made, work, known, costs, by_packed_runs(work, on) + 0.3 * unit_starts(work, costs));
  made.reason = "elements are copied one by one into short dst runs, which are written as one";
  return true;
}

bool offer_shuffled(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form) || !selects_bytes(on.cpu->simd)) return false;
  auto& work = made.emplace<shuffled_args>();
  fused_axes outer;
  if (!find_item(known, most_shuffled_bytes, work.item.inner, outer) || outer.rank == 0) return false;
  const std::int64_t unit = work.item.inner.total;
  work.item.word_bytes = known.form.word_bytes;
  work.item.item_bytes = work.item.src_item_bytes = unit * known.form.word_bytes;
  // The problem whose elements are the items.
  facts items = known;
  items.form.rank = 0;
  for (int k = 0; k < outer.rank; ++k) items.form.axes[items.form.rank++] = outer.axes[static_cast<std::size_t>(k)];
  items.form.axes[items.form.rank] = {unit, 1, 1};
  items.src_unit_axis = items.dst_unit_axis = items.form.rank++;
  if (element_words(items) != unit) return false;
  const cpu_costs& costs = costs_of(on);
  split(work, items, on, unit, true);
  cut_panels(work, costs);
  cut_rows(work, items, costs);
  finish(made, work, items, costs, by_panels(work, items, costs.times) + 1.5 + unit_starts(work, costs));
  made.reason = "blocks that are permuted within themselves are elements: byte shuffles permute each of them";
  return true;
}

bool offer_box(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const std::int64_t unit = element_words(known);
  if (unit == 0 || unit * known.form.word_bytes > most_box_element) return false;
  const cpu_costs& costs = costs_of(on);
  for (std::int64_t most = 512; most >= 64; most /= 2) {
    const box_axes box(known.form, unit, most);
    if (box.run_bytes() == unit * known.form.word_bytes) return false;  // no two elements are contiguous in src
    if (box.bytes() > costs.box_bytes) continue;
    auto& work = made.emplace<box_args>();
    box.fill(work);
    work.streaming = !fits_cache(known, on);
    work.boxes_ahead = base::ceil_div(boxes_ahead_bytes, box.bytes());
    work.cols_ahead = base::ceil_div(cols_ahead_bytes, work.rows.total * work.element_bytes);
    share_out(made, known, costs, work.outer.total);
    made.time = costs.times.box + costs.times.box_bytes / static_cast<double>(work.element_bytes) +
                (stores_whole_lines(work) ? 0 : costs.times.box_parts) + 32 / static_cast<double>(box.run_bytes()) +
                32 / static_cast<double>(box.dst_run_bytes()) +
                buffer_cost_in_cache(known, work.streaming, costs, elements_start_bytes);
    made.binds = bound::requests;
    made.reason = "short axes alternate in src and dst: boxes of both are gathered in the cache";
    return true;
  }
  return false;
}

bool offer_strided(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form)) return false;
  auto& work = made.emplace<strided_args>();
  work.word_bytes = known.form.word_bytes;
  axis_pool(known.form).take_rest(work.outer);
  share_out(made, known, costs_of(on), work.outer.total);
  made.time = 64.0 / static_cast<double>(work.word_bytes) + 8;
  if (has_rows_and_columns(known)) made.time *= 4 * short_reads(known);
  made.binds = bound::requests;
  made.reason = known.dst_unit() == nullptr ? "no axis of dst has stride 1, so no line of dst can be written whole"
                                            : "one word at a time, in the order of dst";
  return true;
}

}  // namespace cornerturn::kernels::cpu::gather
