// The family register_tile: each line of dst stays in the cache until it is complete, so register blocks are stored straight
// to it.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/register_tile/register_tile.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/line_tile-inl.hpp"
#include "kernels/cpu/register_tile/args.hpp"
#include "kernels/cpu/register_tile/items-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Transposes two blocks of rows together: they fill a whole line of dst.
template <std::size_t Word>
HWY_NOINLINE void paired_blocks(const register_tile::args& work, const std::byte* src, std::byte* dst,
                                std::int64_t begin, std::int64_t end) {
  using best = typename blocks<Word>::best;
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr auto least = static_cast<std::int64_t>(best::rows);
  constexpr auto step = static_cast<std::int64_t>(best::cols);
  const std::int64_t src_pitch = work.src_pitch;
  const std::int64_t dst_pitch = work.dst_pitch;
  const std::int64_t last = work.cols - step;
  odometer outer(work.outer, work.word_bytes, begin, false);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    const std::byte* const from = src + outer.src();
    std::byte* const to = dst + outer.dst();
    std::int64_t r = 0;
    for (; r + 2 * least <= work.rows; r += 2 * least) {
      const even_rows upper{from + r * src_pitch, src_pitch};
      const even_rows lower{from + (r + least) * src_pitch, src_pitch};
      for (std::int64_t c = 0;; c = HWY_MIN(c + step, last)) {
        std::byte* const run = to + c * dst_pitch + r * word;
        best::move(upper, c * word, run, dst_pitch);
        best::move(lower, c * word, run + least * word, dst_pitch);
        if (c == last) break;
      }
    }
    rows_of_blocks<Word>(from, src_pitch, work.rows, r, work.cols, to, dst_pitch);
  }
}

// In L1 both orders are as fast, and the lines of few columns stay there. Nor where the lines of a column of src share sets of the L1,
// and the lines of a row of dst do not: 257 x 256 float32 18 us, 22 along dst.
HWY_INLINE bool walks_along_dst(const register_tile::args& work) {
  if (work.word_bytes <= 2) return true;
  return work.rows * work.cols * work.word_bytes > (16 << 10) && work.cols >= 64 &&
         (work.src_pitch % 1024 != 0 || work.dst_pitch % 512 == 0);
}

// Walks along the runs of dst, so that each of their lines is complete at once: loads that miss the L1 overlap, and stores that miss it
// wait for each other. 300 x 300 of 8 bytes takes 28 to 39 us, 45 to 59 along the rows of src. 500 x 501 of 4 bytes takes 67 us and 78,
// 20 x 4000 of 2 bytes 9 us and 16 (Intel Xeon, model 207, 2026-11-27).
template <std::size_t Word, class Block = typename blocks<Word>::best>
HWY_NOINLINE void columns_of_blocks(const std::byte* from, std::int64_t src_pitch, std::int64_t rows, std::int64_t cols,
                                    std::byte* to, std::int64_t dst_pitch) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr auto down = static_cast<std::int64_t>(Block::rows), across = static_cast<std::int64_t>(Block::cols);
  for (std::int64_t c = 0;; c = HWY_MIN(c + across, cols - across)) {  // the last blocks may overlap their neighbours
    for (std::int64_t r = 0;; r = HWY_MIN(r + down, rows - down)) {
      Block::move(even_rows{from + r * src_pitch, src_pitch}, c * word, to + c * dst_pitch + r * word, dst_pitch);
      if (r == rows - down) break;
    }
    if (c == cols - across) break;
  }
}

// One row of blocks, without the set-up of the general loops, which would take most of the time of an 8 x 8 matrix.
template <std::size_t Word>
HWY_NOINLINE void one_row_of_blocks(const register_tile::args& work, const std::byte* src, std::byte* dst) {
  const even_rows rows{src, work.src_pitch};
  row_of_blocks<typename blocks<Word>::best, Word>(rows, work.cols, dst, work.dst_pitch);
}

// Fewer rows or columns than the best block has.
template <std::size_t Word>
HWY_NOINLINE void small_blocks_to_dst(const register_tile::args& work, const std::byte* src, std::byte* dst,
                                      std::int64_t begin, std::int64_t end) {
  using small = typename blocks<Word>::small;
  odometer outer(work.outer, work.word_bytes, begin, false);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    const std::byte* const from = src + outer.src();
    std::byte* const to = dst + outer.dst();
    if (work.rows < work.cols) {
      columns_of_blocks<Word, small>(from, work.src_pitch, work.rows, work.cols, to, work.dst_pitch);
    } else {
      rows_of_blocks<Word, small>(from, work.src_pitch, work.rows, 0, work.cols, to, work.dst_pitch);
    }
  }
}

// Stores blocks straight to dst. Rows and cols are one axis each, at least a small block long.
template <std::size_t Word>
void blocks_to_dst(const register_tile::args& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                   std::int64_t end) {
  using best = typename blocks<Word>::best;
  if (work.rows < static_cast<std::int64_t>(best::rows) || work.cols < static_cast<std::int64_t>(best::cols)) {
    return small_blocks_to_dst<Word>(work, src, dst, begin, end);
  }
  if constexpr (best::rows <= 8) {
    if (work.rows == static_cast<std::int64_t>(best::rows) && work.outer.rank == 0 && begin < end) {
      return one_row_of_blocks<Word>(work, src, dst);
    }
  }
  // Runs of src and of dst that are a multiple of 512 bytes apart share a few sets of the L1. A line would be evicted before its
  // second half is stored, so whole lines are stored: float32 256 x 256 takes 7 us instead of 13 us (AMD EPYC 4th generation,
  // 2026-11-21).
  if constexpr (best::rows * 2 * Word == line_bytes) {
    if (work.src_pitch % 512 == 0 && work.dst_pitch % 512 == 0 &&
        reinterpret_cast<std::uintptr_t>(dst) % line_bytes == 0) {
      return paired_blocks<Word>(work, src, dst, begin, end);
    }
  }
  odometer outer(work.outer, work.word_bytes, begin, false);
  const bool along_dst = walks_along_dst(work);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    const std::byte* const from = src + outer.src();
    std::byte* const to = dst + outer.dst();
    if (along_dst) {
      columns_of_blocks<Word>(from, work.src_pitch, work.rows, work.cols, to, work.dst_pitch);
    } else {
      rows_of_blocks<Word>(from, work.src_pitch, work.rows, 0, work.cols, to, work.dst_pitch);
    }
  }
}

#if HWY_TARGET <= HWY_AVX3
// Stores tiles that fill whole lines straight to dst. Rows and cols are one axis each, at least a tile long.
template <std::size_t Word>
void lines_to_dst(const register_tile::args& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                  std::int64_t end) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr auto down = static_cast<std::int64_t>(line_tile<Word>::rows);
  const std::int64_t src_pitch = work.src_pitch;
  const std::int64_t dst_pitch = work.dst_pitch;
  const std::int64_t rows = work.rows;
  odometer outer(work.outer, work.word_bytes, begin, false);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    const std::byte* const from = src + outer.src();
    std::byte* const to = dst + outer.dst();
    std::int64_t r = 0;
    // If more than half a tile of rows is left, the last tile overlaps its neighbour. Else smaller blocks take these rows.
    for (; r + down / 2 < rows; r += down) {
      r = HWY_MIN(r, rows - down);
      strip_of_tiles<Word>(from + r * src_pitch, src_pitch, to + r * word, dst_pitch, work.cols);
    }
    if (r < rows) rows_of_blocks<Word>(from, src_pitch, rows, r, work.cols, to, dst_pitch);
  }
}
#endif

template <std::size_t Word>
void register_tile_blocks(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  blocks_to_dst<Word>(*static_cast<const register_tile::args*>(args), all.src, all.dst, begin, end);
}
template <std::size_t Word>
void register_tile_items(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  turn_items<Word>(*static_cast<const register_tile::items_args*>(args), all.src, all.dst, begin, end);
}
// With AVX-512: tiles that fill whole lines. Without it: blocks.
template <std::size_t Word>
void register_tile_lines(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const register_tile::args*>(args);
#if HWY_TARGET <= HWY_AVX3
  lines_to_dst<Word>(work, all.src, all.dst, begin, end);
#else
  blocks_to_dst<Word>(work, all.src, all.dst, begin, end);
#endif
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/register_tile/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
