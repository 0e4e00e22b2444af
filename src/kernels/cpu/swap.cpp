// Mirrored blocks trade places. A pair of axes of the problem is one more digit of two numbers X and Y: the element at
// the place of (X, Y) belongs to that of (Y, X). Blocks of `panel` indices of the fastest digit make block numbers I
// and J; a unit is a pair I <= J, numbered row by row, once for each index of the outer axes.
//
//           J            1. the upper block is turned into one buffer, the lower one into another;
//     . U U U U             the lines of the next pair are fetched meanwhile
//   I . . U U U          2. each buffer is stored where the other came from, whole rows at a time
//     . L . U U          A block on the diagonal does the same alone.
//     . L L . U
//
// Ordinary stores: what is written was read just before, so no line is fetched for ownership. Non-temporal ones lose a
// quarter.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/swap.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include <algorithm>
#include <cstring>

#include "kernels/cpu/block-inl.hpp"
#include "kernels/cpu/swap.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Reads the lines of a block that comes later. A struct and not a lambda: see ahead_of_rows.
template <std::size_t Rows>
struct block_ahead {
  const std::byte* from;  // null: nothing comes
  std::int64_t pitch;
  std::int64_t end;  // of a row, which may lie in one line more than its length takes
  HWY_INLINE void operator()(std::int64_t column) const {
    if (from == nullptr || column % 64 != 0) return;
    for (std::size_t k = 0; k < Rows; ++k) {
      const std::byte* const row = from + static_cast<std::int64_t>(k) * pitch;
      __builtin_prefetch(row + column, 1, 2);
      if (column == 0) __builtin_prefetch(row + end - 1, 1, 2);
    }
  }
};

// to[c][r] = from[r][c] for words; pitches in bytes. `next` has the pitch of `from`.
template <std::size_t Word>
HWY_INLINE void turn_block(const std::byte* from, std::int64_t pitch, std::int64_t rows, std::int64_t cols,
                           std::byte* to, std::int64_t to_pitch, const std::byte* next) {
  using best = typename blocks<Word>::best;
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr auto least = static_cast<std::int64_t>(best::rows);
  if (rows < least || cols < static_cast<std::int64_t>(best::cols)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c)
        std::memcpy(to + c * to_pitch + r * word, from + r * pitch + c * word, Word);
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; r += least) {
    r = HWY_MIN(r, rows - least);  // the last block may overlap its neighbour
    const std::byte* row[best::rows];
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < best::rows; ++k) row[k] = from + (r + static_cast<std::int64_t>(k)) * pitch;
    const block_ahead<best::rows> ahead{next == nullptr ? nullptr : next + r * pitch, pitch, cols * word};
    fill_rows<best, Word>(row, cols, to + r * word, to_pitch, ahead);
  }
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

// The first digit's columns lie side by side.
template <std::size_t Word>
struct turn_words {
  static constexpr auto word = static_cast<std::int64_t>(Word);
  static constexpr std::int64_t most = swap_block<Word>();
  static constexpr std::int64_t buffer_pitch = most * word;
  std::int64_t pitch;

  HWY_NOINLINE void diagonal(std::byte* at, std::int64_t rows) const {
    alignas(64) std::byte buffer[most * buffer_pitch];
    turn_block<Word>(at, pitch, rows, rows, buffer, buffer_pitch, nullptr);
    store_block(buffer, buffer_pitch, at, pitch, rows, rows * word);
  }

  HWY_NOINLINE void pair(std::byte* upper, std::byte* lower, std::int64_t rows, std::int64_t cols,
                         const std::byte* next_upper, const std::byte* next_lower) const {
    alignas(64) std::byte of_upper[most * buffer_pitch];
    alignas(64) std::byte of_lower[most * buffer_pitch];
    turn_block<Word>(upper, pitch, rows, cols, of_upper, buffer_pitch, next_upper);
    turn_block<Word>(lower, pitch, cols, rows, of_lower, buffer_pitch, next_lower);
    store_block(of_upper, buffer_pitch, lower, pitch, cols, rows * word);
    store_block(of_lower, buffer_pitch, upper, pitch, rows, cols * word);
  }
};

template <std::size_t Word>
void swap_words(const job& work, std::byte* data, std::int64_t begin, std::int64_t end) {
  const turn_words<Word> turn{work.rows.axes[0].src_stride * static_cast<std::int64_t>(Word)};
  each_block_pair(work, data, begin, end, turn);
}

void swap_b1(const job& w, std::byte* d, std::int64_t b, std::int64_t e) { swap_words<1>(w, d, b, e); }
void swap_b2(const job& w, std::byte* d, std::int64_t b, std::int64_t e) { swap_words<2>(w, d, b, e); }
void swap_b4(const job& w, std::byte* d, std::int64_t b, std::int64_t e) { swap_words<4>(w, d, b, e); }
void swap_b8(const job& w, std::byte* d, std::int64_t b, std::int64_t e) { swap_words<8>(w, d, b, e); }
void swap_b16(const job& w, std::byte* d, std::int64_t b, std::int64_t e) { swap_words<16>(w, d, b, e); }

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::kernels {
namespace cpu {
namespace {

// Elements that trade places one by one.
template <class Swap>
struct swap_elements {
  std::int64_t pitch;
  std::int64_t step;  // from one column to the next
  Swap swap;

  void diagonal(std::byte* at, std::int64_t rows) const {
    for (std::int64_t r = 1; r < rows; ++r) {
      for (std::int64_t c = 0; c < r; ++c) swap(at + r * pitch + c * step, at + c * pitch + r * step);
    }
  }
  void pair(std::byte* upper, std::byte* lower, std::int64_t rows, std::int64_t cols, const std::byte* next_upper,
            const std::byte* next_lower) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::byte* a = upper + r * pitch;
      std::byte* b = lower + r * step;
      for (std::int64_t c = 0; c < cols; ++c, a += step, b += pitch) swap(a, b);
      // Rows of the next pair, where elements are so close that a row is a few lines.
      if (next_upper == nullptr || step > 4 * 64) continue;
      for (std::int64_t k = 0; k < cols * step; k += 64) __builtin_prefetch(next_upper + r * pitch + k, 1, 2);
      for (std::int64_t k = 0; k < cols * step; k += 64) __builtin_prefetch(next_lower + r * pitch + k, 1, 2);
    }
  }
};

template <std::size_t Bytes>
struct swap_exactly {
  void operator()(std::byte* a, std::byte* b) const {
    std::byte kept[Bytes];
    std::memcpy(kept, a, Bytes);
    std::memcpy(a, b, Bytes);
    std::memcpy(b, kept, Bytes);
  }
};

struct swap_any {
  std::int64_t bytes;
  void operator()(std::byte* a, std::byte* b) const {
    constexpr std::int64_t piece = 256;
    std::int64_t k = 0;
    for (; k + piece <= bytes; k += piece) swap_exactly<piece>{}(a + k, b + k);
    for (; k + 16 <= bytes; k += 16) swap_exactly<16>{}(a + k, b + k);
    for (; k < bytes; ++k) std::swap(a[k], b[k]);
  }
};

HWY_EXPORT(swap_b1);
HWY_EXPORT(swap_b2);
HWY_EXPORT(swap_b4);
HWY_EXPORT(swap_b8);
HWY_EXPORT(swap_b16);

}  // namespace
}  // namespace cpu

// Asked at each call: a call moves a share of a matrix, and force_simd_target() is obeyed.
#define CORNERTURN_SWAP(n)                                                                              \
  void cpu_swap_b##n(const job& w, std::byte* d, std::byte*, std::int64_t b, std::int64_t e) noexcept { \
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());                                             \
    using namespace cpu;                                                                                \
    HWY_DYNAMIC_DISPATCH(swap_b##n)(w, d, b, e);                                                        \
  }
CORNERTURN_SWAP(1)
CORNERTURN_SWAP(2)
CORNERTURN_SWAP(4)
CORNERTURN_SWAP(8)
CORNERTURN_SWAP(16)
#undef CORNERTURN_SWAP

void cpu_swap(const job& work, std::byte* data, std::byte* /*workspace*/, std::int64_t begin,
              std::int64_t end) noexcept {
  const auto with = [&](const auto& swap) {
    const cpu::swap_elements<std::decay_t<decltype(swap)>> all{
        work.rows.axes[0].src_stride * work.form.word_bytes, work.rows.axes[0].dst_stride * work.form.word_bytes, swap};
    cpu::each_block_pair(work, data, begin, end, all);
  };
  switch (work.element_bytes) {
    case 1:
      return with(cpu::swap_exactly<1>{});
    case 2:
      return with(cpu::swap_exactly<2>{});
    case 3:
      return with(cpu::swap_exactly<3>{});
    case 4:
      return with(cpu::swap_exactly<4>{});
    case 6:
      return with(cpu::swap_exactly<6>{});
    case 8:
      return with(cpu::swap_exactly<8>{});
    case 12:
      return with(cpu::swap_exactly<12>{});
    case 16:
      return with(cpu::swap_exactly<16>{});
    case 24:
      return with(cpu::swap_exactly<24>{});
    default:
      return with(cpu::swap_any{work.element_bytes});
  }
}

}  // namespace cornerturn::kernels
#endif  // HWY_ONCE
