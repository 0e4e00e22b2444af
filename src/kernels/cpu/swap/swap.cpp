// In place: an upper tile U and its mirror image L are transposed and exchanged. The elements at (X, Y) and (Y, X) are
// swapped; args.hpp defines X and Y. A tile has `panel` indices of the fastest digit of X and of Y, so X and Y have tile
// numbers I and J. A unit is a pair I <= J. Units are numbered row by row, once for each index of the outer axes.
//
//           J            1. up to `most` columns of U, and the same number of rows of L, are taken at a time
//     . U U U U          2. a strip of U has the rows of one block (blocks-inl.hpp), which has a line of each row, or less. A
//   I . . U U U             block of U is transposed into a buffer in L1, its mirror block of L is transposed into the place
//     . L . U U             of the block of U, and the buffer is stored to the place of the block of L
//     . L L . U          3. meanwhile the next strip of U, and a share of the next rows of L, are prefetched into L2: two
//                           lines of each of 16 rows in turn, so that the hardware prefetches too
//
// Each strip of U uses the lines of L again. So L has long rows, `panel` words, and stays in L2. Stores are ordinary: the
// lines were loaded just before, so none is fetched for ownership. Non-temporal stores are a quarter slower.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/swap/swap.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include <algorithm>
#include <cstring>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/elements-inl.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/swap/args.hpp"
#include "kernels/cpu/swap/blocks-inl.hpp"
#include "kernels/cpu/swap/elements.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Swaps tiles of elements, one pair of mirrored blocks at a time. The columns of the fastest digit are contiguous.
template <class Blocks>
struct turn_tiles {
  static constexpr std::int64_t element = Blocks::element_bytes;
  static constexpr std::int64_t side = Blocks::side;
  // Columns of U, and rows of L, that are taken at a time: 256 are 2 to 20 points slower.
  static constexpr std::int64_t most = 128;
  std::int64_t pitch;

  // Rows of `next.lower` that must be in L2 before `next` begins.
  [[nodiscard]] static std::int64_t rows_at_first(const mirrored& next) {
    return next.upper == next.lower ? next.rows : HWY_MIN(most, next.cols);
  }

  // The prefetcher for strip k of `strips`: it loads the next strip, or after the last strip the first rows of `next`, and a
  // share of the lower rows of `next`.
  HWY_INLINE area_prefetcher ahead(std::int64_t k, std::int64_t strips, const std::byte* next_strip, std::int64_t rows,
                                   std::int64_t cols, const mirrored& next) const {
    area_prefetcher prefetcher;
    if (k + 1 < strips) {
      prefetcher.add(next_strip, pitch, rows, cols * element);
    } else {
      prefetcher.add(next.upper, pitch, HWY_MIN(side, next.rows), HWY_MIN(most, next.cols) * element);
    }
    const std::int64_t lower = rows_at_first(next);
    const std::int64_t begin = lower * k / strips;
    prefetcher.add(next.lower + begin * pitch, pitch, lower * (k + 1) / strips - begin, next.rows * element);
    return prefetcher;
  }

  HWY_NOINLINE void strips(const mirrored& all, const mirrored& next) const {
    const std::int64_t count = (all.rows + side - 1) / side;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t r = k * side;
      const std::int64_t rows = HWY_MIN(side, all.rows - r);
      std::byte* const upper = all.upper + r * pitch;
      area_prefetcher prefetcher =
          ahead(k, count, upper + side * pitch, HWY_MIN(side, all.rows - r - rows), all.cols, next);
      for (std::int64_t c = 0; c < all.cols; c += side)
        Blocks::pair(upper + c * element, all.lower + c * pitch + r * element, pitch, rows, HWY_MIN(side, all.cols - c),
                     prefetcher);
      prefetcher.finish();
    }
  }

  [[nodiscard]] mirrored part(const mirrored& all, std::int64_t c) const {
    return {all.upper + c * element, all.lower + c * pitch, all.rows, HWY_MIN(most, all.cols - c)};
  }

  void pair(const mirrored& all, const mirrored& next) const {
    for (std::int64_t c = 0; c < all.cols; c += most)
      strips(part(all, c), c + most < all.cols ? part(all, c + most) : next);
  }

  // Transposes a tile of the diagonal, where U and L are one tile, and prefetches `next` along all of it.
  HWY_NOINLINE void diagonal(const mirrored& all, const mirrored& next) const {
    area_prefetcher prefetcher;
    if (next.upper != next.lower)
      prefetcher.add(next.upper, pitch, HWY_MIN(side, next.rows), HWY_MIN(most, next.cols) * element);
    prefetcher.add(next.lower, pitch, rows_at_first(next), next.rows * element);
    const std::int64_t n = all.rows;
    for (std::int64_t down = 0; down < n; down += most) {
      for (std::int64_t across = down; across < n; across += most) {
        for (std::int64_t r = down; r < HWY_MIN(down + most, n); r += side) {
          std::byte* const row = all.upper + r * pitch;
          const std::int64_t rows = HWY_MIN(side, n - r);
          if (across == down) Blocks::diagonal(row + r * element, pitch, rows, prefetcher);
          for (std::int64_t c = HWY_MAX(across, r + side); c < HWY_MIN(across + most, n); c += side)
            Blocks::pair(row + c * element, all.upper + c * pitch + r * element, pitch, rows, HWY_MIN(side, n - c),
                         prefetcher);
        }
      }
    }
    prefetcher.finish();
  }
};

// Swaps small tiles of words through two buffers. If rows are a large power of two apart, the rows of a tile evict each other
// from L2. So the kernel touches few rows at a time, and stages whole tiles in buffers A and B, whose rows are contiguous:
//
//   1. U is transposed into A, one group of rows at a time. After each group, rows of B (the transposed L of the tile before)
//      are stored to the place of the U before
//   2. L is transposed into B, one group of rows at a time. After each group, its place receives rows of A, while it is in L1
template <std::size_t Word>
class turn_through {
 public:
  static constexpr auto word = static_cast<std::int64_t>(Word);
  static constexpr std::int64_t group = 64 / word;

  // panel: the side of a tile. buffer: buffer_bytes(panel) bytes
  turn_through(std::int64_t pitch, std::int64_t panel, std::byte* buffer)
      : pitch_(pitch), line_(panel * word + 64), a_(buffer), b_(buffer + panel * line_) {}
  static constexpr std::int64_t buffer_bytes(std::int64_t panel) { return 2 * panel * (panel * word + 64); }

  HWY_NOINLINE void pair(const mirrored& all, const mirrored& next) {
    for (std::int64_t r = 0; r < all.rows; r += group) {
      turn_group(all.upper, r, all.rows, all.cols, a_, all.lower, HWY_MIN(group, all.cols), all.rows);
      give_back(r, r + group < all.rows ? r + group : waiting_.rows);
    }
    for (std::int64_t r = 0; r < all.cols; r += group) {
      turn_group(all.lower, r, all.cols, all.rows, b_, next.upper, HWY_MIN(group, next.rows), next.cols);
      store_block(a_ + r * line_, line_, all.lower + r * pitch_, pitch_, HWY_MIN(group, all.cols - r), all.rows * word);
    }
    waiting_ = all;
  }

  HWY_NOINLINE void diagonal(const mirrored& all, const mirrored& next) {
    for (std::int64_t r = 0; r < all.rows; r += group)
      turn_group(all.upper, r, all.rows, all.cols, a_, next.upper, HWY_MIN(group, next.rows), next.cols);
    store_block(a_, line_, all.upper, pitch_, all.rows, all.cols * word);
  }

  void finish() { give_back(0, waiting_.rows); }

 private:
  // Transposes a group of rows from r on. Prefetches the next group or, after the last group, `next_rows` rows at `next`.
  HWY_INLINE void turn_group(const std::byte* from, std::int64_t r, std::int64_t rows, std::int64_t cols, std::byte* to,
                             const std::byte* next, std::int64_t next_rows, std::int64_t next_cols) {
    const std::int64_t mine = HWY_MIN(group, rows - r);
    const std::int64_t left = rows - r - mine;
    const std::byte* const at = from + r * pitch_;
    area_prefetcher prefetcher;
    if (left > 0) {
      prefetcher.add(at + group * pitch_, pitch_, HWY_MIN(group, left), cols * word);
    } else {
      prefetcher.add(next, pitch_, next_rows, next_cols * word);
    }
    turn_block<Word>(at, pitch_, mine, cols, to + r * word, line_, prefetcher);
    prefetcher.finish();
  }
  // Stores rows [begin, end) of B to the place of the U of the tile before.
  HWY_INLINE void give_back(std::int64_t begin, std::int64_t end) {
    end = HWY_MIN(end, waiting_.rows);
    if (begin >= end) return;
    store_block(b_ + begin * line_, line_, waiting_.upper + begin * pitch_, pitch_, end - begin, waiting_.cols * word);
  }

  std::int64_t pitch_;
  std::int64_t
      line_;  // bytes from one row of a buffer to the next; padded, so that rows do not share one set of the L1
  std::byte* a_;
  std::byte* b_;
  mirrored waiting_;
};

template <std::size_t Word>
void swap_words(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const swap::args*>(args);
  std::byte* const data = all.dst;
  const std::int64_t pitch = work.pairs.axes[0].src_stride * static_cast<std::int64_t>(Word);
  if (work.through_buffers) {
    if (std::byte* const buffer = scratch(turn_through<Word>::buffer_bytes(work.panel)); buffer != nullptr) {
      turn_through<Word> turn{pitch, work.panel, buffer};
      each_block_pair(work, data, begin, end, turn);
      return turn.finish();
    }
  }
  turn_tiles<blocks_of<Word>> turn{pitch};
  each_block_pair(work, data, begin, end, turn);
}

// Swaps tiles of elements of any size, whose columns are contiguous. Both tiles are transposed into buffers, 16 rows at a
// time, and the buffers are stored to the places of each other.
class turn_elements {
 public:
  turn_elements(const swap::args& work, std::byte* buffer)
      : e_(work.element_bytes),
        pitch_(work.pairs.axes[0].src_stride * work.word_bytes),
        line_(line_of(work)),
        turn_(e_, e_),
        a_(buffer),
        b_(buffer + work.panel * line_) {}
  static std::int64_t buffer_bytes(const swap::args& work) { return 2 * work.panel * line_of(work); }

  HWY_NOINLINE void pair(const mirrored& all, const mirrored& next) const {
    turn(all.upper, all.rows, all.cols, a_, next.upper, next.rows, next.cols);
    turn(all.lower, all.cols, all.rows, b_, next.lower, next.cols, next.rows);
    store_block(a_, line_, all.lower, pitch_, all.cols, all.rows * e_);
    store_block(b_, line_, all.upper, pitch_, all.rows, all.cols * e_);
  }
  HWY_NOINLINE void diagonal(const mirrored& all, const mirrored& next) const {
    turn(all.upper, all.rows, all.cols, a_, next.upper, next.rows, next.cols);
    store_block(a_, line_, all.upper, pitch_, all.rows, all.cols * e_);
  }

 private:
  // Behind a run there is room for the surplus of the last block. Lines of an odd number of cache lines use all sets of the L1.
  static std::int64_t line_of(const swap::args& work) {
    return (base::ceil_div(work.panel * work.element_bytes + 16, std::int64_t{64}) | 1) * 64;
  }

  // Transposes a tile into the buffer `to`, and prefetches a tile at `next`.
  HWY_INLINE void turn(const std::byte* from, std::int64_t rows, std::int64_t cols, std::byte* to,
                       const std::byte* next, std::int64_t next_rows, std::int64_t next_cols) const {
    for (std::int64_t r = 0; r < rows; r += strip_rows) {
      const std::byte* row[strip_rows];
      const auto count = static_cast<int>(HWY_MIN(std::int64_t{strip_rows}, rows - r));
      for (int k = 0; k < count; ++k) row[k] = from + (r + k) * pitch_;
      for (std::int64_t k = r; k < HWY_MIN(r + strip_rows, next_rows); ++k) {
        for (std::int64_t line = 0; line < next_cols * e_; line += 64) {
          __builtin_prefetch(next + k * pitch_ + line, 1, 2);
        }
      }
      turn_.transpose<false>(strip{row, nullptr, 0, count}, 0, cols, to + r * e_, line_);
    }
  }

  std::int64_t e_;
  std::int64_t pitch_;
  std::int64_t line_;
  element_turn turn_;
  std::byte* a_;
  std::byte* b_;
};

#if HWY_TARGET <= HWY_AVX3
template <std::size_t... Bytes>
void swap_blocks(const swap::args& work, std::byte* data, std::int64_t begin, std::int64_t end,
                 std::index_sequence<Bytes...> /*sizes*/) {
  const std::int64_t pitch = work.pairs.axes[0].src_stride * work.word_bytes;
  const auto with = [&](auto turn) { each_block_pair(work, data, begin, end, turn); };
  ((work.element_bytes == static_cast<std::int64_t>(Bytes) ? with(turn_tiles<line_blocks<Bytes>>{pitch}) : void()),
   ...);
}
#endif

void swap_elements(const void* args, const arrays& those, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const swap::args*>(args);
#if HWY_TARGET <= HWY_AVX3
  if (work.by_blocks) return swap_blocks(work, those.dst, begin, end, block_elements());
#endif
  if (work.through_buffers) {
    if (std::byte* const buffer = scratch(turn_elements::buffer_bytes(work)); buffer != nullptr) {
      turn_elements turn(work, buffer);
      return each_block_pair(work, those.dst, begin, end, turn);
    }
  }
  const auto with = [&](const auto& swap) {
    swap_one_by_one<std::decay_t<decltype(swap)>> all{work.pairs.axes[0].src_stride * work.word_bytes,
                                                      work.pairs.axes[0].dst_stride * work.word_bytes, swap};
    each_block_pair(work, those.dst, begin, end, all);
  };
  const std::int64_t size = work.element_bytes;
  switch (size) {
    case 1:
      return with(swap_exactly<1>{});
    case 2:
      return with(swap_exactly<2>{});
    case 3:
      return with(swap_exactly<3>{});
    case 4:
      return with(swap_exactly<4>{});
    case 6:
      return with(swap_exactly<6>{});
    case 8:
      return with(swap_exactly<8>{});
    case 12:
      return with(swap_exactly<12>{});
    case 16:
      return with(swap_exactly<16>{});
    case 24:
      return with(swap_exactly<24>{});
    default:
      break;
  }
  if (size < 8) return with(swap_two<4, 4>{size - 4});
  if (size < 16) return with(swap_two<8, 8>{size - 8});
  if (size <= 32) return with(swap_two<16, 16>{size - 16});
  if (size <= 48) return with(swap_two<32, 16>{size - 16});
  if (size <= 64) return with(swap_two<48, 16>{size - 16});
  with(swap_any{size});
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/swap/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
