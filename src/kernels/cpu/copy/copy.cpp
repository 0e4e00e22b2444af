// The family copy: runs that are contiguous in src and in dst. If dst does not fit the cache, whole lines are written with
// non-temporal stores. In cache, elements of any size are such runs too.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/copy/copy.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/copy/args.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/element_copy-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Cuts the bytes into parts of whole lines of dst, and copies four lines of each part in turn: more pages of memory are open, and
// more hardware prefetchers run. One part 36 GB/s, four parts 41 (Zen 4, 2026-11-25).
template <int Parts>
void copy_streams(const std::byte* src, std::byte* dst, std::int64_t bytes, page_prefetcher pages) {
  constexpr std::int64_t step = 4 * line_bytes;
  const std::int64_t head =
      HWY_MIN(bytes, -static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst)) & (line_bytes - 1));
  std::memcpy(dst, src, static_cast<std::size_t>(head));
  src += head, dst += head, bytes -= head;
  const std::int64_t part = bytes / Parts / step * step;
  for (std::int64_t done = 0; done < part; done += step) {
    pages.fetch(Parts * step);
    for (std::int64_t at = done; at < Parts * part; at += part) {
      HWY_UNROLL(4)
      for (std::int64_t line = at; line < at + step; line += line_bytes) stream_line(src + line, dst + line);
    }
  }
  std::int64_t at = Parts * part;
  for (; at + line_bytes <= bytes; at += line_bytes) stream_line(src + at, dst + at);
  std::memcpy(dst + at, src + at, static_cast<std::size_t>(bytes - at));
}

void copy_run(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const copy::run_args*>(args);
  const std::int64_t from = begin * copy::unit_bytes;
  const std::int64_t bytes = HWY_MIN(end * copy::unit_bytes, work.bytes) - from;
  if (!work.streaming) return void(std::memcpy(all.dst + from, all.src + from, static_cast<std::size_t>(bytes)));
  if (work.prefetches_pages) {
    copy_streams<1>(all.src + from, all.dst + from, bytes, page_prefetcher(all.src + from));
  } else {
    copy_streams<4>(all.src + from, all.dst + from, bytes, page_prefetcher());
  }
  finish_streaming();
}

// A prefetch of a page that is not in the TLB may be dropped, so a long run begins with a load. Runs of 4 KiB, whole pages
// apart, reach 20 GB/s without the load and 26 with it; runs of 128 bytes 27 and 10 (AMD EPYC 4th generation, 2026-11-23).
constexpr std::int64_t touched_bytes = 1024;

// Copies each run of src to many runs of dst, one after another.
void repeat_runs(const copy::runs_args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  alignas(64) std::byte buffer[copy::repeated_bytes + line_bytes];  // a writer may load a line behind its bytes
  const std::int64_t run = work.run_bytes, most = copy::repeated_bytes / run;
  run_writer writer;
  for (std::int64_t unit = begin; unit < end;) {
    std::int64_t left = HWY_MIN(work.repeats - unit % work.repeats, end - unit);
    const odometer outer(work.outer, work.word_bytes, unit, false);
    const std::byte* const src = all.src + outer.src();
    std::byte* dst = all.dst + outer.dst();
    const std::int64_t together = HWY_MIN(most, left);
    for (std::int64_t k = 0; k < together; ++k) std::memcpy(buffer + k * run, src, static_cast<std::size_t>(run));
    unit += left;
    for (std::int64_t some; left > 0; left -= some, dst += some * run) {
      some = HWY_MIN(together, left);
      writer.write(buffer, dst, some * run);
    }
  }
  writer.finish();
  finish_streaming();
}

// Copies runs in the order of dst. Lines of later runs are prefetched meanwhile, because the hardware cannot predict where
// the next run begins.
void copy_runs(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const copy::runs_args*>(args);
  odometer outer(work.outer, work.word_bytes, begin, false);
  if (!work.streaming) {
    for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
      std::memcpy(all.dst + outer.dst(), all.src + outer.src(), static_cast<std::size_t>(work.run_bytes));
    }
    return;
  }
  if (work.repeats > 1) return repeat_runs(work, all, begin, end);
  const std::int64_t first = HWY_MIN(begin + work.ahead_runs, work.outer.total - 1);
  odometer prefetcher(work.read_order, work.word_bytes, first, false);
  run_writer writer;
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next(), prefetcher.next()) {
    const std::byte* const next = all.src + prefetcher.src();
    if (work.fetched_bytes >= touched_bytes) static_cast<void>(*static_cast<const volatile std::byte*>(next));
    for (std::int64_t k = 0; k < work.fetched_bytes; k += line_bytes) __builtin_prefetch(next + k, 0, 2);
    // A run that begins inside a line touches one line more. 128 bytes from address 16 on: 5.7 GB/s without, 14 with it.
    __builtin_prefetch(next + work.fetched_bytes - 1, 0, 2);
    writer.write(all.src + outer.src(), all.dst + outer.dst(), work.run_bytes);
  }
  writer.finish();
  finish_streaming();
}

// Copies `count` elements of each of Rows rows. All arguments are values, since a store to a std::byte may change any object that has an
// address: the loop would load the steps again.
template <int Rows, class Copy>
HWY_INLINE void copy_rows(const Copy copy, const std::byte* from, std::byte* to, std::int64_t count,
                          std::int64_t src_step, std::int64_t dst_step, std::int64_t src_row, std::int64_t dst_row) {
  for (std::int64_t k = 0; k < count; ++k, from += src_step, to += dst_step) {
    copy(to, from);
    if constexpr (Rows == 2) copy(to + dst_row, from + src_row);
  }
}

// Elements that are in the cache, in any order of the axes.
void copy_elements(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const copy::elements_args*>(args);
  const std::int64_t extent = work.inner.extent, rows = work.middle.extent;
  const std::int64_t src_step = work.inner.src_stride * work.word_bytes,
                     dst_step = work.inner.dst_stride * work.word_bytes;
  const std::int64_t src_row = work.middle.src_stride * work.word_bytes,
                     dst_row = work.middle.dst_stride * work.word_bytes;
  odometer outer(work.outer, work.word_bytes, begin == 0 ? 0 : begin / (extent * rows), false);
  std::int64_t first = begin == 0 ? 0 : begin % extent, row = begin == 0 ? 0 : begin / extent % rows;
  std::int64_t left = end - begin;
  const bool narrow = work.element_bytes <= line_bytes;
  with_element_copy(work.element_bytes, [&](const auto& copy) {
    for (; left > 0; outer.next(), row = 0) {
      const std::byte* const src = all.src + outer.src();
      std::byte* const dst = all.dst + outer.dst();
      // Two rows at once: the end of a short loop is mispredicted half as often. Times of 120 random problems up to 64 KiB 0.89, of
      // elements of 68 bytes and more 1.2 (Intel Xeon, model 85, 2026-11-28).
      for (; narrow && first == 0 && row + 2 <= rows && left >= 2 * extent; row += 2, left -= 2 * extent) {
        copy_rows<2>(copy, src + row * src_row, dst + row * dst_row, extent, src_step, dst_step, src_row, dst_row);
      }
      for (; row < rows && left > 0; ++row, first = 0) {
        const std::int64_t count = HWY_MIN(extent - first, left);
        left -= count;
        copy_rows<1>(copy, src + row * src_row + first * src_step, dst + row * dst_row + first * dst_step, count,
                     src_step, dst_step, 0, 0);
      }
    }
  });
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/copy/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
