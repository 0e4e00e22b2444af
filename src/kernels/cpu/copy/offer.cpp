// Offers for runs that are contiguous in src and in dst.
#include "kernels/cpu/copy/args.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::copy {
namespace {

// Of elements in cache, in times of a copy. Other rows pay for tables and buffers first, so they gain from 512 bytes to 4 KiB on.
// Fitted to 960 random problems of 64 bytes to 1 MiB: the chosen row took 1.14 times the fastest with a constant cost, and 1.05 with
// this one (Intel Xeon, model 207, 2026-11-27).
double time_in_cache(std::int64_t bytes, std::int64_t element_bytes) noexcept {
  const double growth = std::clamp(std::log2(static_cast<double>(bytes) / 512) / 3, 0.0, 1.0);
  return 0.6 * growth + (12 + 24 * growth) / static_cast<double>(element_bytes);
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
  if (!left.empty()) left.take(left.smallest(&axis::dst_stride), loops);
  work.inner = loops.axes[0];
  work.middle = loops.axes[1];  // 1 row of none
  left.take_rest(work.outer);
  share_out(made, known, costs_of(on), work.outer.total * loops.total);
  made.time = time_in_cache(known.bytes, work.element_bytes);
  // A step of the outer axes takes as long as three elements. Regret of 1580 problems in cache 1.042 without it, 1.036 (Emerald Rapids).
  if (work.outer.total > 1) made.time *= 1 + 3 / static_cast<double>(loops.total);
  made.binds = bound::issue;
  made.reason = "in cache: each element is copied as it is";
  return true;
}

}  // namespace cornerturn::kernels::cpu::copy
