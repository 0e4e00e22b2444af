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
  if constexpr (Copy::overlaps) --count;
  for (; count > 0; --count, from += src_step, to += dst_step) {
    copy(to, from);
    if constexpr (Rows == 2) copy(to + dst_row, from + src_row);
  }
  if constexpr (Copy::overlaps) copy.copy_last(to, from);
}

// Copies whole rows. Functions of their own, and one for each Copy: together with the other loops the compiler keeps steps in memory, and
// 13 x 14 of 24 bytes take 118 ns instead of 85. Two rows at once: the end of a short loop is mispredicted half as often. Of 120 random
// problems up to 64 KiB 0.89 of the time, elements of 68 bytes and more 1.2 (Intel Xeon, model 85, 2026-11-28). One row if stores
// overlap: 20 x 20 of 6 bytes 112 and 136 ns (Zen 4, 2026-11-30).
template <class Copy>
HWY_INLINE void copy_rows_of_block(const Copy copy, const copy::elements_args& work, const std::byte* src,
                                   std::byte* dst, std::int64_t extent) {
  const std::int64_t src_step = work.src_step, dst_step = work.dst_step;
  const std::int64_t src_row = work.src_row, dst_row = work.dst_row;
  std::int64_t rows = work.rows;
  if (!Copy::overlaps && work.element_bytes <= line_bytes) {
    for (; rows >= 2; rows -= 2, src += 2 * src_row, dst += 2 * dst_row) {
      copy_rows<2>(copy, src, dst, extent, src_step, dst_step, src_row, dst_row);
    }
  }
  for (; rows > 0; --rows, src += src_row, dst += dst_row) {
    copy_rows<1>(copy, src, dst, extent, src_step, dst_step, 0, 0);
  }
}
template <class Copy>
HWY_NOINLINE void copy_block(const Copy copy, const copy::elements_args& work, const std::byte* src, std::byte* dst,
                             std::int64_t extent) {
  copy_rows_of_block(copy, work, src, dst, extent);
}
template <class Copy>
HWY_NOINLINE void copy_blocks(const Copy copy, const copy::elements_args& work, const std::byte* src, std::byte* dst,
                              std::int64_t extent, std::int64_t blocks) {
  for (; blocks > 0; --blocks, src += work.src_block, dst += work.dst_block) {
    copy_rows_of_block(copy, work, src, dst, extent);
  }
}

// All rows, so many elements of each at a time that their lines of src stay in L1 for the next rows.
template <class Copy>
HWY_INLINE void copy_pieces(const Copy copy, const copy::elements_args& work, const std::byte* src, std::byte* dst,
                            std::int64_t blocks) {
  const auto copy_some = [&](std::int64_t extent) {
    if (blocks == 1) return copy_block(copy, work, src, dst, extent);
    copy_blocks(copy, work, src, dst, extent, blocks);
  };
  std::int64_t left = work.extent;
  for (; left > work.piece; left -= work.piece, src += work.piece * work.src_step, dst += work.piece * work.dst_step) {
    copy_some(work.piece);
  }
  copy_some(left);
}

template <class Copy>
HWY_NOINLINE void copy_all_blocks(const Copy copy, const copy::elements_args& work, const std::byte* src,
                                  std::byte* dst) {
  odometer outer(work.outer, work.word_bytes, 0, false);
  for (std::int64_t left = work.outer.total; left > 0; --left, outer.next()) {
    copy_pieces(copy, work, src + outer.src(), dst + outer.dst(), work.blocks);
  }
}

// Elements [begin, end), counted along the inner loop, the rows, the blocks and then the outer axes.
template <class Copy>
HWY_NOINLINE void copy_some_elements(const Copy copy, const copy::elements_args& work, const std::byte* all_src,
                                     std::byte* all_dst, std::int64_t begin, std::int64_t end) {
  const std::int64_t extent = work.extent, rows = work.rows;
  std::int64_t first = begin % extent, row = begin / extent % rows, block = begin / extent / rows % work.blocks;
  odometer outer(work.outer, work.word_bytes, begin / extent / rows / work.blocks, false);
  for (std::int64_t left = end - begin; left > 0;) {
    const std::byte* const src = all_src + outer.src() + block * work.src_block + row * work.src_row;
    std::byte* const dst = all_dst + outer.dst() + block * work.dst_block + row * work.dst_row;
    if (row == 0 && first == 0 && left >= extent * rows) {
      copy_pieces(copy, work, src, dst, 1);
      left -= extent * rows, row = rows;
    } else {
      const std::int64_t count = HWY_MIN(extent - first, left);
      copy_rows<1>(copy, src + first * work.src_step, dst + first * work.dst_step, count, work.src_step, work.dst_step,
                   0, 0);
      left -= count, first = 0, ++row;
    }
    if (row == rows) row = 0, ++block;
    if (block == work.blocks) block = 0, outer.next();
  }
}

// Elements that are in the cache, in any order of the axes.
void copy_elements(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const copy::elements_args*>(args);
  const std::byte* const src = all.src;
  std::byte* const dst = all.dst;
  const auto copy_all = [=, &work](const auto& copy) {
    if (end - begin != work.elements) {
      copy_some_elements(copy, work, src, dst, begin, end);
    } else if (work.is_block) {
      copy_block(copy, work, src, dst, work.extent);
    } else if (work.outer.total > 1) {
      copy_all_blocks(copy, work, src, dst);
    } else {
      copy_pieces(copy, work, src, dst, work.blocks);
    }
  };
  if (work.neighbours && with_masked_copy(work.element_bytes, copy_all)) return;
  with_element_copy(work.element_bytes, copy_all);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/copy/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
