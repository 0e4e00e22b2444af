// The family gather: problems that register blocks cannot take.
//   elements  any size and src stride, one at a time, dst in whole lines   policy/panels-inl.hpp
//   packed    short dst runs of such elements, put together                policy/packed-inl.hpp
//   box       short axes that alternate in src and dst                     box-inl.hpp
//   strided   dst has no unit stride: one word at a time
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gather/gather.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/gather/args.hpp"
#include "kernels/cpu/gather/box-inl.hpp"
#include "kernels/cpu/gather/widened-inl.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/packed-inl.hpp"
#include "kernels/cpu/policy/panels-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Elements of any size and any src stride, copied one by one into the buffer.
template <class Copy>
HWY_INLINE void each_element(const blocking& work, const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                             std::int64_t pitch, const Copy& copy) {
  std::int64_t offset = c * work.src_col_bytes;
  for (std::int64_t k = 0; k < cols; ++k, offset += work.src_col_bytes, to += pitch) {
    std::byte* at = to;
    for (int r = 0; r < rows.count; ++r, at += work.element_bytes) copy(at, rows.row[r] + offset);
  }
}

template <std::size_t Bytes>
struct copy_one {
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, Bytes); }
};

// Elements of Chunk to 2 * Chunk bytes: two copies of Chunk bytes that may overlap.
template <std::size_t Chunk>
struct copy_two {
  std::int64_t rest;  // size - Chunk
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    std::byte tail[Chunk];
    std::memcpy(tail, from + rest, Chunk);
    std::memcpy(to, from, Chunk);
    std::memcpy(to + rest, tail, Chunk);
  }
};

struct element_fill {
  static constexpr std::int64_t spare_cols = 0;
  static constexpr bool pads = false;
  const blocking& work;
  const widening by;

  explicit element_fill(const blocking& of) noexcept : work(of), by(of.element_bytes) {}

  // The panel takes a line of each row, or less, and then the next rows. The hardware prefetchers of Zen 4 do not follow so
  // many rows. The hardware prefetchers of an Intel Xeon (model 207) do: elements of 24 and 32 bytes fall from 0.29 to 0.19
  // of a copy with prefetches, and gain nothing on Zen 4 (2026-11-24).
  HWY_INLINE void part(const strip& rows, std::int64_t c, std::int64_t cols, std::int64_t panel_cols, std::byte* to,
                       std::int64_t pitch) const {
    const read_ahead ahead{rows, by.element_bytes <= 16 ? work.prefetch_bytes : 0, panel_cols * work.src_col_bytes};
    ahead.each_row(c * work.src_col_bytes, cols * work.src_col_bytes);
    transpose<false>(rows, c, cols, to, pitch);
  }
  HWY_INLINE void packed(const strip& rows, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    const std::int64_t row_bytes = cols * work.src_col_bytes;
    read_ahead{rows, row_bytes, row_bytes}.each_row(0, row_bytes);
    transpose<true>(rows, 0, cols, to, pitch);
  }

 private:
  // Exact: nothing is stored behind the last row of a run.
  template <bool Exact>
  HWY_NOINLINE void transpose(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                              std::int64_t pitch) const {
    const bool whole = work.src_col_bytes == by.element_bytes && (c + cols) * by.element_bytes >= 16;
    if (!whole || by.wide == 0 || cols < 16 / by.wide) return one_by_one(rows, c, cols, to, pitch);
    if (by.wide == 4) return widened<Exact, 4>(rows, c, cols, to, pitch);
    if (by.wide == 8) return widened<Exact, 8>(rows, c, cols, to, pitch);
    widened<Exact, 16>(rows, c, cols, to, pitch);
  }

  template <bool Exact, std::size_t Wide>
  HWY_INLINE void widened(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                          std::int64_t pitch) const {
    constexpr auto n = static_cast<int>(16 / Wide);
    for (int r = 0; r < rows.count; r += n) {
      const int count = HWY_MIN(n, rows.count - r);
      const std::int64_t bytes = count * by.element_bytes;
      const auto with = [&](const auto& block) { block.move(rows.row + r, c, cols, to + r * by.element_bytes, pitch); };
      if (!Exact || (rows.count - r - n) * by.element_bytes >= by.surplus) {  // later rows overwrite the surplus
        with(widened_block<Wide, 0>(by, count));
      } else if (bytes >= 8) {
        with(widened_block<Wide, 8>(by, count));
      } else if (bytes >= 4) {
        with(widened_block<Wide, 4>(by, count));
      } else {
        with(widened_block<Wide, 2>(by, count));
      }
    }
  }

  HWY_NOINLINE void one_by_one(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                               std::int64_t pitch) const {
    const std::int64_t size = work.element_bytes;
    const auto with = [&](const auto& copy) { each_element(work, rows, c, cols, to, pitch, copy); };
    if (size == 1) return with(copy_one<1>{});
    if (size == 2) return with(copy_one<2>{});
    if (size == 3) return with(copy_one<3>{});
    if (size == 4) return with(copy_one<4>{});
    if (size == 8) return with(copy_one<8>{});
    if (size < 8) return with(copy_two<4>{size - 4});
    if (size <= 16) return with(copy_two<8>{size - 8});
    if (size <= 32) return with(copy_two<16>{size - 16});
    with([size](std::byte* at, const std::byte* from) { std::memcpy(at, from, static_cast<std::size_t>(size)); });
  }
};

void gather_elements(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const gather::elements_args*>(args);
  move_panels(work, all.src, all.dst, begin, end, element_fill(work));
}
void gather_packed(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const gather::packed_args*>(args);
  move_packed(work, all.src, all.dst, begin, end, element_fill(work));
}
template <std::size_t Word>
void gather_box(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  move_boxes<Word>(*static_cast<const gather::box_args*>(args), all.src, all.dst, begin, end);
}
void gather_strided(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const gather::strided_args*>(args);
  odometer walk(work.outer, work.word_bytes, begin, false);
  const auto word = static_cast<std::size_t>(work.word_bytes);
  for (std::int64_t i = begin; i < end; ++i, walk.next()) std::memcpy(all.dst + walk.dst(), all.src + walk.src(), word);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/gather/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
