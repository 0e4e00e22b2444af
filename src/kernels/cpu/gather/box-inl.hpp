// Short axes that alternate in src and dst (bits of qubits, sub-pixels, small images): no single axis makes long runs in both arrays,
// but a box of a few axes does. gather/args.hpp has the axes of a box.
//
//   1. the src runs of a box are copied into the buffer, one after another. So each line of src is loaded once, and rows
//      that are a power of two apart do not evict each other from a set of the L1
//   2. the elements of a dst run are gathered. The offset of an element in the buffer is a sum of two numbers: one depends on the
//      dst run, the other on the place in the run. Two short tables serve all elements of all boxes; a box at an edge takes
//      the first entries of each
//   3. with each dst run, a share of the lines of a later box is prefetched. Runs that are no whole lines are stored through the
//      cache: their lines are prefetched, too
#if defined(CORNERTURN_BOX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_BOX_INL
#undef CORNERTURN_BOX_INL
#else
#define CORNERTURN_BOX_INL
#endif

#include <cstring>

#include "kernels/cpu/gather/args.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Copies `bytes` bytes and touches no others.
HWY_INLINE void copy_src_run(const std::byte* from, std::byte* to, std::int64_t bytes) {
  if (bytes < line_bytes) return void(std::memcpy(to, from, static_cast<std::size_t>(bytes)));
  for (std::int64_t k = 0; k + line_bytes < bytes; k += line_bytes) std::memcpy(to + k, from + k, line_bytes);
  std::memcpy(to + bytes - line_bytes, from + bytes - line_bytes, line_bytes);
}

// Gathers `count` elements of e bytes. Each is moved as Word bytes, e <= Word; the next one overwrites what is too much.
template <std::size_t Word>
HWY_INLINE void gather_elements_of_run(const std::byte* from, const std::uint16_t* place, std::int64_t count,
                                       std::int64_t e, std::byte* to) {
  std::int64_t j = 0;
  if constexpr (Word <= 2) {  // eight bytes are stored at once: 20 problems of 1 and 2 bytes 0.15, 0.18 with it (Zen 4)
    constexpr std::int64_t together = 8 / Word;
    for (; j + together <= count; j += together, to += 8) {
      std::uint64_t all = 0;
      HWY_UNROLL(8)
      for (std::int64_t k = 0; k < together; ++k) {
        typename word_of<Word>::type one;
        std::memcpy(&one, from + place[j + k], Word);
        all |= std::uint64_t{one} << (8 * Word * static_cast<std::size_t>(k));
      }
      std::memcpy(to, &all, 8);
    }
  }
  for (; j < count; ++j, to += e) std::memcpy(to, from + place[j], Word);
}

// Without memory for a buffer: one element at a time.
inline void move_boxes_without_buffer(const gather::box_args& work, const std::byte* src, std::byte* dst,
                                      std::int64_t begin, std::int64_t end) {
  odometer outer(work.outer, work.word_bytes, begin, false);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    const gather::box_extents box(work, unit);
    odometer col(work.cols, 1, 0, true);
    for (std::int64_t k = 0; k < box.cols; ++k, col.next()) {
      std::byte* to = dst + outer.dst() + col.dst() * work.word_bytes;
      odometer row(work.rows, 1, 0, true);
      for (std::int64_t j = 0; j < box.rows; ++j, row.next(), to += work.element_bytes) {
        const std::int64_t place = col.src() + row.src();
        const odometer run(work.runs, work.word_bytes, place / work.pitch, true);
        std::memcpy(to, src + outer.src() + run.src() + place % work.pitch,
                    static_cast<std::size_t>(work.element_bytes));
      }
    }
  }
}

template <std::size_t Word>
void move_boxes(const gather::box_args& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                std::int64_t end) {
  const std::int64_t e = work.element_bytes;
  const std::int64_t dst_run = work.rows.total * e;
  // The memory holds: the buffer | one dst run | for each row its offset in the buffer (place) | for each column the buffer
  // offset of its first element (first) | its offset in dst (to) | the offset of each src run (from)
  const std::int64_t buffer_bytes = work.pitch * work.runs.total + line_bytes;
  const std::int64_t out_bytes = base::ceil_div(dst_run + line_bytes, line_bytes) * line_bytes;
  const std::int64_t offsets = 8 * (work.cols.total + work.runs.total) + 4 * work.cols.total + 2 * work.rows.total;
  std::byte* const buffer = scratch(buffer_bytes + out_bytes + offsets);
  if (buffer == nullptr) return move_boxes_without_buffer(work, src, dst, begin, end);
  std::byte* const out = buffer + buffer_bytes;
  auto* const to = reinterpret_cast<std::int64_t*>(out + out_bytes);
  auto* const from = to + work.cols.total;
  auto* const first = reinterpret_cast<std::int32_t*>(from + work.runs.total);
  auto* const place = reinterpret_cast<std::uint16_t*>(first + work.cols.total);
  odometer row(work.rows, 1, 0, true), col(work.cols, 1, 0, true), run(work.runs, work.word_bytes, 0, true);
  for (std::int64_t k = 0; k < work.rows.total; ++k, row.next()) place[k] = static_cast<std::uint16_t>(row.src());
  for (std::int64_t k = 0; k < work.cols.total; ++k, col.next()) {
    first[k] = static_cast<std::int32_t>(col.src());
    to[k] = col.dst() * work.word_bytes;
  }
  for (std::int64_t k = 0; k < work.runs.total; ++k, run.next()) from[k] = run.src();

  odometer outer(work.outer, work.word_bytes, begin, false);
  odometer coming = outer;  // after the last box it wraps to the first one
  for (std::int64_t k = work.boxes_ahead; k > 0; --k) coming.next();
  const std::int64_t run_lines = work.run_bytes / line_bytes + 1;  // a run that begins inside a line may touch one more
  const std::int64_t fetches = work.runs.total * run_lines;
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next(), coming.next()) {
    const gather::box_extents box(work, unit);
    const std::byte* const here = src + outer.src();
    for (std::int64_t k = 0; k < box.runs; ++k) copy_src_run(here + from[k], buffer + k * work.pitch, box.run_bytes);
    const std::byte* const ahead = src + coming.src();
    std::int64_t fetched = 0, fetched_run = 0, fetched_line = 0;
    for (std::int64_t k = 0; k < box.cols; ++k) {
      for (const std::int64_t share = fetches * (k + 1) / box.cols; fetched < share; ++fetched) {
        __builtin_prefetch(ahead + from[fetched_run] + fetched_line * line_bytes, 0, 2);
        if (++fetched_line == run_lines) fetched_line = 0, ++fetched_run;
      }
      std::byte* const at = dst + outer.dst() + to[k];
      const bool streams =
          work.streaming && box.rows * e % line_bytes == 0 && reinterpret_cast<std::uintptr_t>(at) % line_bytes == 0;
      if (streams) {
        gather_elements_of_run<Word>(buffer + first[k], place, box.rows, e, out);
        for (std::int64_t b = 0; b < box.rows * e; b += line_bytes) stream_line(out + b, at + b);
      } else {
        if (k + work.cols_ahead < box.cols) {
          const std::byte* const later = dst + outer.dst() + to[k + work.cols_ahead];
          for (std::int64_t b = 0; b < dst_run + line_bytes - 1; b += line_bytes) __builtin_prefetch(later + b, 1, 3);
        }
        const std::int64_t last = box.rows - (Word > 1 ? 1 : 0);  // nothing behind the run is written
        gather_elements_of_run<Word>(buffer + first[k], place, last, e, at);
        if (Word > 1) {
          std::memcpy(at + last * e, buffer + first[k] + place[last], static_cast<std::size_t>(e));
        }
      }
    }
  }
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
