// Pairs of mirrored blocks, which swap.cpp transposes and exchanges. A block of the upper triangle has rows x cols elements; its
// mirror image in the lower triangle has cols x rows. At most `side` of each.
//   word_blocks  words, in register blocks of block-inl.hpp
//   line_blocks  AVX-512: up to 64 bytes of each row in one register, elements of 1 to 32 bytes
#if defined(CORNERTURN_SWAP_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SWAP_BLOCKS_INL
#undef CORNERTURN_SWAP_BLOCKS_INL
#else
#define CORNERTURN_SWAP_BLOCKS_INL
#endif

#include <cstring>
#include <type_traits>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/element_block-inl.hpp"
#include "kernels/cpu/policy/line_tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Prefetches the rows of up to two areas. A class and not a lambda: see ahead_of_rows.
class area_prefetcher {
 public:
  HWY_INLINE void add(const std::byte* from, std::int64_t pitch, std::int64_t rows, std::int64_t bytes) {
    if (rows <= 0) return;
    areas_[count_++] = {from, pitch, rows, bytes};
  }
  // Prefetches as many bytes as the caller transposes.
  HWY_INLINE void fetch(std::int64_t bytes) {
    for (owed_ += bytes; owed_ >= at_once; owed_ -= at_once) step();
  }
  HWY_INLINE void finish() {
    while (at_ < count_) step();
  }

 private:
  static constexpr std::int64_t at_once = 128;  // two neighbouring lines
  static constexpr std::int64_t together = 16;  // rows in turn: 16 rows reach 0.78 to 1.08 of a rewrite, 1 row 0.66 to
                                                // 0.88 (Intel Xeon, model 143, 2026-11-22)
  struct area {
    const std::byte* from = nullptr;
    std::int64_t pitch = 0;
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
  };

  HWY_INLINE void step() {
    if (at_ == count_) return;
    area& mine = areas_[at_];
    const std::byte* const line = mine.from + row_ * mine.pitch + column_;
    __builtin_prefetch(line, 1, 2);
    __builtin_prefetch(line + 64, 1, 2);
    const std::int64_t rows = HWY_MIN(together, mine.rows);
    if (++row_ < rows) return;
    row_ = 0;
    if ((column_ += at_once) < mine.bytes) return;
    column_ = 0;
    mine.from += rows * mine.pitch;
    if ((mine.rows -= rows) == 0) ++at_;
  }

  area areas_[2];
  int count_ = 0;
  int at_ = 0;
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  std::int64_t owed_ = 0;
};

template <std::size_t Bytes>
struct fetch_ahead {
  area_prefetcher& prefetcher;
  HWY_INLINE void operator()(std::int64_t /*column*/) const { prefetcher.fetch(Bytes); }
};

// to[c][r] = from[r][c] for words. Pitches are in bytes.
template <std::size_t Word>
HWY_INLINE void turn_block(const std::byte* from, std::int64_t pitch, std::int64_t rows, std::int64_t cols,
                           std::byte* to, std::int64_t to_pitch, area_prefetcher& prefetcher) {
  using best = typename blocks<Word>::best;
  constexpr auto word = static_cast<std::int64_t>(Word);
  if (rows < static_cast<std::int64_t>(best::rows) || cols < static_cast<std::int64_t>(best::cols)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c)
        std::memcpy(to + c * to_pitch + r * word, from + r * pitch + c * word, Word);
    }
    return;
  }
  rows_of_blocks<Word>(from, pitch, rows, 0, cols, to, to_pitch,
                       fetch_ahead<best::rows * best::cols * Word>{prefetcher});
}

HWY_INLINE void store_block(const std::byte* from, std::int64_t from_pitch, std::byte* to, std::int64_t pitch,
                            std::int64_t rows, std::int64_t bytes) {
  constexpr auto step = static_cast<std::int64_t>(vector_bytes);
  const hn::FixedTag<std::uint8_t, vector_bytes> d;
  for (std::int64_t r = 0; r < rows; ++r, from += from_pitch, to += pitch) {
    std::int64_t k = 0;
    for (; k + step <= bytes; k += step) store(load(d, from + k), d, to + k);
    if (k < bytes) std::memcpy(to + k, from + k, static_cast<std::size_t>(bytes - k));
  }
}

template <std::size_t Word>
struct word_blocks {
  static constexpr auto element_bytes = static_cast<std::int64_t>(Word);
  static constexpr std::int64_t side = 64 / element_bytes;

  // Transposes both blocks and exchanges them. Rows are `pitch` bytes apart.
  static HWY_INLINE void pair(std::byte* upper, std::byte* lower, std::int64_t pitch, std::int64_t rows,
                              std::int64_t cols, area_prefetcher& prefetcher) {
    alignas(64) std::byte of_upper[side * 64];
    if (rows == side && cols == side) {
      turn_block<Word>(upper, pitch, side, side, of_upper, 64, prefetcher);
      turn_block<Word>(lower, pitch, side, side, upper, pitch, prefetcher);
      store_block(of_upper, 64, lower, pitch, side, 64);
      return;
    }
    // Register blocks at the border overlap their neighbours. So all loads come before the first store.
    alignas(64) std::byte of_lower[side * 64];
    turn_block<Word>(upper, pitch, rows, cols, of_upper, 64, prefetcher);
    turn_block<Word>(lower, pitch, cols, rows, of_lower, 64, prefetcher);
    store_block(of_upper, 64, lower, pitch, cols, rows * element_bytes);
    store_block(of_lower, 64, upper, pitch, rows, cols * element_bytes);
  }
  // Transposes a block of the diagonal.
  static HWY_INLINE void diagonal(std::byte* corner, std::int64_t pitch, std::int64_t rows,
                                  area_prefetcher& prefetcher) {
    alignas(64) std::byte buffer[side * 64];
    turn_block<Word>(corner, pitch, rows, rows, buffer, 64, prefetcher);
    store_block(buffer, 64, corner, pitch, rows, rows * element_bytes);
  }
};

#if HWY_TARGET <= HWY_AVX3
template <std::size_t Bytes>
struct line_blocks {
  static constexpr auto element_bytes = static_cast<std::int64_t>(Bytes);
  static constexpr auto side = static_cast<std::int64_t>(swap_line_side(Bytes));

  static HWY_NOINLINE void pair(std::byte* upper, std::byte* lower, std::int64_t pitch, std::int64_t rows,
                                std::int64_t cols, area_prefetcher& prefetcher) {
    prefetcher.fetch(2 * side * row_bytes);
    alignas(64) std::byte of_upper[side * 64];
    if (rows == side && cols == side) {
      turn<true>(upper, pitch, side, side, of_upper, 64);
      turn<true>(lower, pitch, side, side, upper, pitch);
      HWY_UNROLL(4)
      for (std::int64_t k = 0; k < side; ++k)
        store_bytes(_mm512_load_si512(of_upper + 64 * k), lower + k * pitch, row_bytes);
      return;
    }
    turn<false>(upper, pitch, rows, cols, of_upper, 64);
    turn<false>(lower, pitch, cols, rows, upper, pitch);
    for (std::int64_t k = 0; k < cols; ++k) {
      store_bytes(_mm512_load_si512(of_upper + 64 * k), lower + k * pitch, rows * element_bytes);
    }
  }
  static HWY_NOINLINE void diagonal(std::byte* corner, std::int64_t pitch, std::int64_t rows,
                                    area_prefetcher& prefetcher) {
    prefetcher.fetch(side * row_bytes);
    alignas(64) std::byte buffer[side * 64];
    turn<false>(corner, pitch, rows, rows, buffer, 64);
    for (std::int64_t k = 0; k < rows; ++k) {
      store_bytes(_mm512_load_si512(buffer + 64 * k), corner + k * pitch, rows * element_bytes);
    }
  }

 private:
  static constexpr std::int64_t row_bytes = side * element_bytes;  // of a whole block: 48 or 64

  // to[c][r] = from[r][c]. Whole: side x side elements
  template <bool Whole>
  static HWY_INLINE void turn(const std::byte* from, std::int64_t pitch, std::int64_t rows, std::int64_t cols,
                              std::byte* to, std::int64_t to_pitch) {
    if constexpr (Bytes <= 2) {
      alignas(64) std::byte staged[Whole ? 1 : side * 64];
      if constexpr (!Whole) {
        for (std::int64_t r = 0; r < rows; ++r) {
          _mm512_store_si512(staged + 64 * r, load_bytes(from + r * pitch, cols * element_bytes));
        }
        from = staged;
        pitch = 64;
      }
      using tile = line_tile<Bytes>;
      constexpr auto across = static_cast<std::int64_t>(tile::cols);
      for (std::int64_t c = 0; c < cols; c += across, from += across * element_bytes, to += across * to_pitch) {
        __m512i v[tile::cols];
        tile::turn(from, pitch, v);
        HWY_UNROLL(16)
        for (std::int64_t k = 0; k < across; ++k) {
          if (!Whole && c + k >= cols) break;
          store_bytes(v[k], to + k * to_pitch, Whole ? row_bytes : rows * element_bytes);
        }
      }
    } else {
      move_element_block<Bytes, Whole>(even_rows{from, pitch}, 0, rows, cols, to, to_pitch);
    }
  }
};

// Words of 4 bytes: 14 squares 0.58 of a copy by lines, 0.60 by words (Zen 4, 2026-11-25).
template <std::size_t Word>
using blocks_of = std::conditional_t<Word == 4, word_blocks<Word>, line_blocks<Word>>;
#else
template <std::size_t Word>
using blocks_of = word_blocks<Word>;
#endif

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
