// Short axes that alternate in src and dst (bits of qubits, sub-pixels): no single axis makes long runs in both arrays, but
// a box of a few axes does.
//
//   dst run  `rows`, axes that are contiguous in dst
//   box      `rows` and `cols`; its axes that are contiguous in src make a src run, at least a line long
//
//   1. the src runs of a box are copied into the buffer, one after another. So each line of src is loaded once, and rows
//      that are a power of two apart do not evict each other from a set of the L1
//   2. the words of a dst run are gathered. The offset of a word in the buffer is a sum of two numbers: one depends on the
//      dst run, the other on the place in the run. Two short tables serve all words of all boxes
//   3. with each dst run that is stored, a share of the lines of a later box is prefetched
#if defined(CORNERTURN_BOX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_BOX_INL
#undef CORNERTURN_BOX_INL
#else
#define CORNERTURN_BOX_INL
#endif

#include "kernels/cpu/gather/box.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <std::size_t Word>
void move_boxes(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
  constexpr auto bytes = static_cast<std::int64_t>(Word);
  const box_of_runs box = runs_of_box(work);
  const std::int64_t src_run = box.run * bytes;
  const std::int64_t dst_run = work.rows.total * bytes;
  const std::int64_t run_lines = src_run / line_bytes + 1;  // a run that begins inside a line may touch one more
  // The memory holds: the buffer | one dst run | the buffer offsets of its words (place) | for each column the buffer offset
  // of its first word (first) and its offset in dst (to) | the offset of each src run (from)
  const std::int64_t buffer_bytes = base::ceil_div(src_run * box.runs.total, line_bytes) * line_bytes;
  const std::int64_t out_bytes = base::ceil_div(dst_run, line_bytes) * line_bytes;
  std::byte* const buffer =
      scratch(buffer_bytes + out_bytes + 8 * (work.rows.total + 2 * work.cols.total + box.runs.total));
  if (buffer == nullptr) return move_without_buffer(work, src, dst, begin, end);
  std::byte* const out = buffer + buffer_bytes;
  auto* const place = reinterpret_cast<std::int64_t*>(out + out_bytes);
  auto* const first = place + work.rows.total;
  auto* const to = first + work.cols.total;
  auto* const from = to + work.cols.total;

  const auto list = [](const fused_axes& axes, std::int64_t* offsets, std::int64_t (odometer::*side)() const noexcept) {
    odometer walk(axes, bytes, 0, true);
    for (std::int64_t k = 0; k < axes.total; ++k, walk.next()) offsets[k] = (walk.*side)();
  };
  list(box.rows, place, &odometer::src);
  list(work.cols, first, &odometer::src);
  list(work.cols, to, &odometer::dst);
  list(box.runs, from, &odometer::src);

  odometer outer(work.outer, bytes, begin, false);
  odometer coming = outer;  // after the last box it wraps to the first one
  for (std::int64_t k = work.prefetch_bytes / (src_run * box.runs.total); k > 0; --k) coming.next();
  run_writer writer;
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    const std::byte* const here = src + outer.src();
    for (std::int64_t k = 0; k < box.runs.total; ++k) {
      std::memcpy(buffer + k * src_run, here + from[k], static_cast<std::size_t>(src_run));
    }
    coming.next();
    const std::byte* const ahead = src + coming.src();
    const std::int64_t fetches = box.runs.total * run_lines;
    std::int64_t fetched = 0;
    for (std::int64_t k = 0; k < work.cols.total; ++k) {
      for (const std::int64_t share = fetches * (k + 1) / work.cols.total; fetched < share; ++fetched) {
        __builtin_prefetch(ahead + from[fetched / run_lines] + fetched % run_lines * line_bytes, 0, 2);
      }
      const std::byte* const words = buffer + first[k];
      for (std::int64_t j = 0; j < work.rows.total; ++j) {
        std::memcpy(out + j * bytes, words + place[j], Word);
      }
      std::byte* const run = dst + outer.dst() + to[k];
      if (work.streaming) {
        writer.write(out, run, dst_run);
      } else {
        std::memcpy(run, out, static_cast<std::size_t>(dst_run));
      }
    }
  }
  writer.finish();
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
