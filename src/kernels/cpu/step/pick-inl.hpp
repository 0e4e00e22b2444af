// Moves the blocks of step/args.hpp along the axis that is cut.
//   64  AVX-512: each window is permuted into its bytes of the block; the block is stored under a mask. Words of one byte need VBMI
//   16  each window is looked up, the results are joined. Up to 16 bytes of dst are stored, so dst has no gaps
//   0   an element at a time, or word by word; eight bytes of narrow words are stored at once if dst has no gaps
#if defined(CORNERTURN_PICK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_PICK_INL
#undef CORNERTURN_PICK_INL
#else
#define CORNERTURN_PICK_INL
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/element_block-inl.hpp"
#include "kernels/cpu/policy/element_copy-inl.hpp"
#include "kernels/cpu/step/args.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Lines of dst that take a word each: 29 ms without a prefetch, 22 ms with it (Intel Xeon, model 207, 2026-11-27).
inline constexpr std::int64_t dst_ahead_lines = 32;

// src_ahead, dst_ahead: from a word to the line that is prefetched; 0: none is.
template <std::size_t Word>
HWY_INLINE void copy_words(const std::byte* src, std::int64_t src_step, std::byte* dst, std::int64_t dst_step,
                           std::int64_t count, std::int64_t src_ahead, std::int64_t dst_ahead) {
  std::int64_t k = 0;
  if constexpr (Word < 8) {
    constexpr std::int64_t together = 8 / static_cast<std::int64_t>(Word);
    if (dst_step == static_cast<std::int64_t>(Word)) {
      for (; k + together <= count; k += together, src += together * src_step, dst += 8) {
        std::uint64_t all = 0;
        HWY_UNROLL(8)
        for (std::int64_t i = 0; i < together; ++i) {
          if (src_ahead != 0) __builtin_prefetch(src + i * src_step + src_ahead, 0, 2);
          typename word_of<Word>::type one;
          std::memcpy(&one, src + i * src_step, Word);
          all |= std::uint64_t{one} << (8 * static_cast<std::int64_t>(Word) * i);
        }
        std::memcpy(dst, &all, 8);
      }
    }
  }
  if (src_ahead != 0 || dst_ahead != 0) {
    for (; k < count; ++k, src += src_step, dst += dst_step) {
      __builtin_prefetch(src + src_ahead, 0, 2);
      __builtin_prefetch(dst + dst_ahead, 1, 3);
      std::memcpy(dst, src, Word);
    }
    return;
  }
  HWY_UNROLL(4)
  for (; k < count; ++k, src += src_step, dst += dst_step) std::memcpy(dst, src, Word);
}

template <class Copy>
HWY_INLINE void copy_elements_apart(const Copy copy, const std::byte* src, std::int64_t src_step, std::byte* dst,
                                    std::int64_t dst_step, std::int64_t count, std::int64_t src_ahead,
                                    std::int64_t dst_ahead) {
  if (src_ahead == 0 && dst_ahead == 0) {
    for (; count > 0; --count, src += src_step, dst += dst_step) copy(dst, src);
    return;
  }
  for (; count > 0; --count, src += src_step, dst += dst_step) {
    __builtin_prefetch(src + src_ahead, 0, 2);
    __builtin_prefetch(dst + dst_ahead, 1, 3);
    copy(dst, src);
  }
}

HWY_NOINLINE inline void move_words(const step::cut_axis& cut, const std::byte* src, std::byte* dst, std::int64_t count,
                                    std::int64_t src_ahead = 0) {
  // Nearer words share lines.
  const std::int64_t dst_ahead = cut.gap_ahead > 0 && cut.dst_step >= 64 ? dst_ahead_lines * cut.dst_step : 0;
  if (base::magnitude(cut.src_step) < 64) src_ahead = 0;
  if (cut.inner.rank == 1 && cut.is_run()) {
    return with_element_copy(cut.moved_bytes(), [&](const auto& copy) {
      copy_elements_apart(copy, src, cut.src_step, dst, cut.dst_step, count, src_ahead, dst_ahead);
    });
  }
  for (std::int64_t k = 0; k < cut.inner.total; ++k) {
    const std::byte* from = src;
    std::byte* to = dst;
    std::int64_t left = k;
    for (int a = 0; a < cut.inner.rank; ++a) {
      const axis& one = cut.inner.axes[static_cast<std::size_t>(a)];
      from += left % one.extent * one.src_stride * cut.word_bytes;
      to += left % one.extent * one.dst_stride * cut.word_bytes;
      left /= one.extent;
    }
    const auto with = [&]<std::size_t Word>() {
      copy_words<Word>(from, cut.src_step, to, cut.dst_step, count, k == 0 ? src_ahead : 0, dst_ahead);
    };
    switch (cut.word_bytes) {
      case 1:
        with.template operator()<1>();
        break;
      case 2:
        with.template operator()<2>();
        break;
      case 4:
        with.template operator()<4>();
        break;
      case 8:
        with.template operator()<8>();
        break;
      default:
        with.template operator()<16>();
    }
  }
}

// Rows of blocks: in row k, block b is moved from src[k] + b * src_step to dst[k] + b * dst_step.
struct block_rows {
  const std::byte* const* src;
  std::byte* const* dst;
  std::int64_t rows;
  std::int64_t blocks;  // of a row
  std::int64_t src_step;
  std::int64_t dst_step;
  std::int64_t src_offset = 0;  // of the first block of each row
  std::int64_t dst_offset = 0;
  std::int64_t src_ahead = 0;  // from a window to its prefetch, in bytes
  std::int64_t dst_ahead = 0;  // from a block with gaps to the line that is prefetched for writing
};

#if HWY_TARGET <= HWY_AVX3
// Permutes words of 1, 2 or 4 bytes, of which each element is made. vpermb is of AVX-512 VBMI: see select_bytes_of() of
// policy/element_block-inl.hpp.
template <int Word>
class word_picker {
 public:
  explicit HWY_INLINE word_picker(const std::uint8_t* place) noexcept : place_(_mm512_loadu_si512(place)) {
    if constexpr (Word == 2) place_ = _mm512_srli_epi16(_mm512_and_si512(place_, _mm512_set1_epi16(0xFF)), 1);
    if constexpr (Word == 4) place_ = _mm512_srli_epi32(_mm512_and_si512(place_, _mm512_set1_epi32(0xFF)), 2);
  }
  // A bit for each word, from a bit for each byte.
  [[nodiscard]] static HWY_INLINE std::uint64_t words_of(std::uint64_t bytes) noexcept {
    return Word == 1 ? bytes : _pext_u64(bytes, Word == 2 ? 0x5555555555555555 : 0x1111111111111111);
  }
  [[nodiscard]] HWY_INLINE __m512i operator()(__m512i window) const noexcept {
    if constexpr (Word == 4) return _mm512_permutexvar_epi32(place_, window);
    if constexpr (Word == 2) return _mm512_permutexvar_epi16(place_, window);
    asm("vpermb %0, %1, %0" : "+v"(window) : "v"(place_));
    return window;
  }
  HWY_INLINE void more(__m512i& all, std::uint64_t words, __m512i window) const noexcept {
    if constexpr (Word == 4) {
      all = _mm512_mask_permutexvar_epi32(all, static_cast<__mmask16>(words), place_, window);
    } else if constexpr (Word == 2) {
      all = _mm512_mask_permutexvar_epi16(all, static_cast<__mmask32>(words), place_, window);
    } else {
      asm("vpermb %1, %2, %0%{%3%}" : "+v"(all) : "v"(window), "v"(place_), "Yk"(static_cast<__mmask64>(words)));
    }
  }

 private:
  __m512i place_;
};

// Windows: 0 any number
template <int Word, int Windows, bool Gaps>
HWY_NOINLINE void move_blocks_of_64(const step::block_table& table, const block_rows& all) {
  const word_picker<Word> pick(table.place);
  const auto words_of = [&](std::int64_t k) HWY_ATTR { return word_picker<Word>::words_of(table.taken[k]); };
  const __mmask64 stored = table.stored, loaded = table.loaded;
  const std::uint64_t taken1 = words_of(1), taken2 = words_of(2), taken3 = words_of(3);
  const std::int64_t first = table.offset[0], second = table.offset[1], third = table.offset[2],
                     fourth = table.offset[3];
  for (std::int64_t row = 0; row < all.rows; ++row) {
    const std::byte* src = all.src[row] + all.src_offset;
    std::byte* dst = all.dst[row] + all.dst_offset;
    for (std::int64_t left = all.blocks; left > 0; --left, src += all.src_step, dst += all.dst_step) {
      __m512i made;
      if constexpr (Windows == 1) {
        made = pick(_mm512_maskz_loadu_epi8(loaded, src + first));
      } else {
        made = pick(_mm512_loadu_si512(src + first));
        __builtin_prefetch(src + first + all.src_ahead, 0, 3);
        if constexpr (Windows > 0) {
          const auto more = [&](std::uint64_t taken, std::int64_t offset) HWY_ATTR {
            __builtin_prefetch(src + offset + all.src_ahead, 0, 3);
            pick.more(made, taken, _mm512_loadu_si512(src + offset));
          };
          more(taken1, second);
          if (Windows > 2) more(taken2, third);
          if (Windows > 3) more(taken3, fourth);
        } else {
          for (std::int64_t k = 1; k < table.windows; ++k) {
            __builtin_prefetch(src + table.offset[k] + all.src_ahead, 0, 3);
            pick.more(made, words_of(k), _mm512_loadu_si512(src + table.offset[k]));
          }
        }
      }
      if constexpr (Gaps) {
        __builtin_prefetch(dst + all.dst_ahead, 1, 3);
        _mm512_mask_storeu_epi8(dst, stored, made);
      } else {
        _mm512_storeu_si512(dst, made);
      }
    }
  }
}

template <int Word>
HWY_INLINE void move_blocks_of_64(const step::block_table& table, const block_rows& all) {
  const auto with = [&]<bool Gaps>() {
    if (table.windows == 1) return move_blocks_of_64<Word, 1, Gaps>(table, all);
    if (table.windows == 2) return move_blocks_of_64<Word, 2, Gaps>(table, all);
    if (table.windows == 3) return move_blocks_of_64<Word, 3, Gaps>(table, all);
    if (table.windows == 4) return move_blocks_of_64<Word, 4, Gaps>(table, all);
    move_blocks_of_64<Word, 0, Gaps>(table, all);
  };
  table.stored == ~std::uint64_t{0} ? with.template operator()<false>() : with.template operator()<true>();
}
HWY_INLINE void move_blocks_of_64(std::int64_t word_bytes, const step::block_table& table, const block_rows& all) {
  if (has_select_bytes()) return move_blocks_of_64<1>(table, all);
  word_bytes % 4 == 0 ? move_blocks_of_64<4>(table, all) : move_blocks_of_64<2>(table, all);
}
#endif

// Returns false, and moves nothing, if the block is too short for a window.
HWY_NOINLINE inline bool move_blocks_of_16(const step::block_table& table, const block_rows& all) {
  constexpr std::size_t most = 16;
  const hn::FixedTag<std::uint8_t, 16> d;
  const bool is_short = table.windows == 1 && (~table.loaded & 0xffff) != 0;
  if (is_short && all.src_step != 0) return false;
  alignas(16) std::uint8_t place[most][16];
  for (std::int64_t w = 0; w < table.windows; ++w) {
    for (std::size_t k = 0; k < 16; ++k)
      place[w][k] = (table.taken[w] >> k & 1) != 0 ? table.place[k] : std::uint8_t{0x80};
  }
  const auto bytes = static_cast<std::size_t>(__builtin_popcountll(table.stored));
  const auto only_bytes = static_cast<std::size_t>(__builtin_popcountll(table.loaded & 0xffff));
  for (std::int64_t row = 0; row < all.rows; ++row) {
    const std::byte* src = all.src[row] + all.src_offset;
    std::byte* dst = all.dst[row] + all.dst_offset;
    alignas(16) std::uint8_t only[16] = {};
    if (is_short) std::memcpy(only, src + table.offset[0], only_bytes);
    for (std::int64_t left = all.blocks; left > 0; --left, src += all.src_step, dst += all.dst_step) {
      auto made = hn::TableLookupBytesOr0(is_short ? hn::Load(d, only) : load<decltype(d)>(d, src + table.offset[0]),
                                          hn::Load(d, place[0]));
      for (std::int64_t w = 1; w < table.windows; ++w)
        made = hn::Or(made, hn::TableLookupBytesOr0(load(d, src + table.offset[w]), hn::Load(d, place[w])));
      if (left > 1 || bytes == 16) {  // the next block overwrites the surplus
        store(made, d, dst);
      } else {
        alignas(16) std::byte last[16];
        store(made, d, last);
        std::memcpy(dst, last, bytes);
      }
    }
  }
  return true;
}

// Returns false, and moves nothing, if there is no table for these rows.
HWY_INLINE bool move_blocks(const step::cut_axis& cut, const step::block_table& blocks, const block_rows& all) {
#if HWY_TARGET <= HWY_AVX3
  if (cut.vector == 64) {
    move_blocks_of_64(cut.word_bytes, blocks, all);
    return true;
  }
#endif
  return cut.vector == 16 && move_blocks_of_16(blocks, all);
}

// Moves `count` indices of the axis that is cut, in each of some rows. The last block of a row may overlap the block before it.
HWY_INLINE void move_rows(const step::cut_axis& cut, const step::block_table& blocks, const std::byte* const* src,
                          std::byte* const* dst, std::int64_t rows, std::int64_t count, std::int64_t src_ahead = 0) {
  const std::int64_t whole = count / cut.tile, last = count - cut.tile;
  block_rows all{src, dst, rows,      whole,        cut.tile * cut.src_step, cut.tile * cut.dst_step,
                 0,   0,   src_ahead, cut.gap_ahead};
  if (cut.vector != 0 && whole > 0 && move_blocks(cut, blocks, all)) {
    if (whole * cut.tile == count) return;
    all.blocks = 1;
    all.src_offset = last * cut.src_step;
    all.dst_offset = last * cut.dst_step;
    move_blocks(cut, blocks, all);
    return;
  }
  for (std::int64_t k = 0; k < rows; ++k) move_words(cut, src[k], dst[k], count, src_ahead);
}

HWY_INLINE void move_row(const step::cut_axis& cut, const step::block_table& blocks, const std::byte* src,
                         std::byte* dst, std::int64_t count, std::int64_t src_ahead = 0) {
  // A store that crosses a line costs two, so all blocks but the first one begin at a line. 18 x 3708 of 16 bytes from right to left in
  // the cache: 54 us without, 44 with it (Zen 4, 2026-11-29).
  const std::int64_t to_line = -static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst)) & 63;
  if (to_line != 0 && cut.vector == 64 && cut.tile * cut.dst_step == 64 && to_line % cut.dst_step == 0 &&
      blocks.stored == ~std::uint64_t{0} && count >= 8 * cut.tile) {
    const std::int64_t some = to_line / cut.dst_step;
    move_rows(cut, blocks, &src, &dst, 1, cut.tile, src_ahead);
    src += some * cut.src_step, dst += to_line, count -= some;
  }
  move_rows(cut, blocks, &src, &dst, 1, count, src_ahead);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
