// Offers for runs that are contiguous in src and in dst.
#include "kernels/cpu/copy/args.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::copy {
namespace {

// Of elements in cache, in bytes that a copy would move meanwhile. Fitted to the times of 2,100 random problems of 64 bytes to 1 MiB:
// the root mean square of the logarithms of errors is 0.16. With a cost for each byte it was 0.84 (Zen 4, 2026-11-30).
constexpr double call_bytes = 460;
constexpr double outer_step_bytes = 175;
constexpr double block_bytes = 100;
constexpr double element_cost_bytes = 12;   // of a load, a store and a step
constexpr double next_vector_bytes = 18;    // of each vector behind the first one
constexpr double second_store_bytes = 6.5;  // of elements that are two words
constexpr double in_l1 = 0.12, beyond_l1 = 0.42;
constexpr std::int64_t line = 64, vector_bytes = 32, l1_bytes = 32 << 10, l1_ways = 8;

// Steps of the inner loop until it meets more lines of src than half of L1 keeps.
std::int64_t steps_in_l1(const elements_args& work) noexcept {
  const std::int64_t step = base::magnitude(work.src_step), l1_sets = l1_bytes / line / l1_ways;
  const std::int64_t sets = step % line == 0 ? l1_sets / std::gcd(step / line, l1_sets) : l1_sets;
  const std::int64_t lines = l1_ways * sets / 2;
  return step >= line ? lines : step == 0 ? INT64_MAX : lines * line / step;
}

// True where the elements of the next row are in the same lines of src.
bool rows_share_lines(const elements_args& work) noexcept {
  return work.rows > 1 && base::magnitude(work.src_row) < line &&
         base::magnitude(work.src_row) < base::magnitude(work.src_step);
}

double time_in_cache(const elements_args& work, std::int64_t bytes) noexcept {
  const bool two_words = !work.neighbours && !std::has_single_bit(static_cast<std::uint64_t>(work.element_bytes));
  const auto next_vectors = static_cast<double>((work.element_bytes - 1) / vector_bytes);
  const double each = element_cost_bytes + next_vector_bytes * next_vectors + (two_words ? second_store_bytes : 0);
  const double steps = call_bytes + block_bytes * static_cast<double>(work.blocks * work.outer.total) +
                       (work.outer.total > 1 ? outer_step_bytes * static_cast<double>(work.outer.total) : 0);
  return in_l1 + steps / static_cast<double>(bytes) + each / static_cast<double>(work.element_bytes) +
         beyond_l1 * std::max(0.0, 1 - static_cast<double>(l1_bytes) / static_cast<double>(bytes));
}

}  // namespace

bool offer_run(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const cpu_costs& costs = costs_of(on);
  if (!known.form.empty && !is_one_run(known.form)) return false;
  auto& work = made.emplace<run_args>();
  work.bytes = known.bytes;
  work.streaming = !fits_cache(known, on);
  work.prefetches_pages = costs.page_prefetch_bytes > 0;
  share_out(made, known, costs, base::ceil_div(work.bytes, unit_bytes));
  made.item.is_run = true;
  made.time = known.form.empty ? 0 : 1;
  made.binds = known.form.empty ? bound::nothing : bound::dram;
  made.reason = known.form.empty ? "there is nothing to move" : "src and dst are one contiguous run";
  return true;
}

bool offer_runs(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form) || known.dst_unit() == nullptr || known.dst_unit()->src_stride != 1) {
    return false;
  }
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<runs_args>();
  axis_pool left(known.form);
  const axis* const next_in_dst = left.find(&axis::dst_stride, known.dst_unit()->extent);
  // near: the next run in dst is at most a page away in src. Then runs of one line are long enough.
  const bool near = next_in_dst != nullptr && base::magnitude(next_in_dst->src_stride) <= 4096 / known.form.word_bytes;
  const bool alone = next_in_dst == nullptr;
  const std::int64_t copies = !alone && next_in_dst->src_stride == 0 ? next_in_dst->extent : 1;
  fused_axes run;
  left.take(left.find(&axis::dst_stride, 1), run);
  left.take_rest(work.outer);
  work.word_bytes = known.form.word_bytes;
  work.run_bytes = run.total * work.word_bytes;
  work.streaming = !fits_cache(known, on);
  if (!work.streaming && work.run_bytes <= most_element_bytes) return false;  // cpu_copy_elements
  // The copies of a short run are written together.
  const bool repeated =
      work.streaming && work.run_bytes <= repeated_bytes / 2 && work.run_bytes * copies >= repeated_bytes;
  if (repeated) work.repeats = copies;
  const bool tiled =
      work.streaming && !repeated &&
      tile_outer_axes(work.outer, work.run_bytes, near ? costs.tiled_near_bytes : costs.tiled_outer_bytes);
  work.fetched_bytes = std::min(work.run_bytes, costs.run_ahead_bytes);
  work.ahead_runs = costs.run_ahead_bytes / work.run_bytes + 1;
  order_prefetches(work.outer, tiled, work.run_bytes, work.read_order, work.ahead_runs);
  share_out(made, known, costs, work.outer.total);
  const double overhead = near && work.run_bytes >= 64 ? costs.times.near_run_bytes : costs.times.far_run_bytes;
  made.time = costs.times.copy_runs + overhead / static_cast<double>(repeated ? repeated_bytes : work.run_bytes);
  // No neighbour in dst: cpu_gather cannot copy wide elements. cpu_step_runs copies the ones up to a line.
  if (alone && work.run_bytes > 64) made.time = std::min(made.time, 1.5);
  made.binds = made.time > 1.3 ? bound::requests : bound::dram;
  made.reason = "the innermost axis is contiguous on both sides: it is copied run by run";
  return true;
}

bool offer_elements(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form) || !fits_cache(known, on)) return false;
  auto& work = made.emplace<elements_args>();
  work.element_bytes = work.word_bytes = known.form.word_bytes;
  axis_pool left(known.form);
  if (known.dst_unit() != nullptr && known.dst_unit()->src_stride == 1) {
    fused_axes run;
    left.take(left.find(&axis::dst_stride, 1), run);
    work.element_bytes *= run.total;
  }
  if (work.element_bytes > most_element_bytes || left.empty()) return false;
  // The inner loop walks dst, unless it would be short there and longer in src.
  const axis* inner = left.smallest(&axis::dst_stride);
  const axis* const in_src = left.smallest(&axis::src_stride);
  if (inner->extent < 8 && in_src->extent > inner->extent) inner = in_src;
  fused_axes loops;
  left.take(inner, loops);
  work.extent = loops.axes[0].extent;
  work.src_step = loops.axes[0].src_stride * work.word_bytes;
  work.dst_step = loops.axes[0].dst_stride * work.word_bytes;
  // Rows that L1 does not hold are neighbours in src, so that a line of src is loaded once.
  const bool beyond = work.extent > steps_in_l1(work) && work.element_bytes < line;
  if (!left.empty()) left.take(left.smallest(beyond ? &axis::src_stride : &axis::dst_stride), loops);
  work.neighbours = work.dst_step == work.element_bytes && work.extent >= 4;
  work.rows = loops.axes[1].extent;  // 1 row of none
  work.src_row = loops.axes[1].src_stride * work.word_bytes;
  work.dst_row = loops.axes[1].dst_stride * work.word_bytes;
  work.piece = work.extent;
  if (rows_share_lines(work)) work.piece = std::clamp<std::int64_t>(steps_in_l1(work), 1, work.extent);
  if (!left.empty()) {
    left.take(left.smallest(&axis::dst_stride), loops);
    work.blocks = loops.axes[2].extent;
    work.src_block = loops.axes[2].src_stride * work.word_bytes;
    work.dst_block = loops.axes[2].dst_stride * work.word_bytes;
  }
  left.take_rest(work.outer);
  work.elements = work.outer.total * loops.total;
  work.is_block = work.outer.total * work.blocks == 1 && work.piece == work.extent;
  share_out(made, known, costs_of(on), work.elements);
  made.time = time_in_cache(work, known.bytes);
  made.binds = bound::issue;
  made.reason = "in cache: each element is copied as it is";
  return true;
}

}  // namespace cornerturn::kernels::cpu::copy
