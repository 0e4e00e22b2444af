// A few columns (2, 3, 4, 8, 16) or a few rows (2, 3, 4, 8): arrays of structures to structures of arrays and back, at
// full vectors.
//
// For a power of two the shuffle rounds of block-inl.hpp do both ways, with C vectors instead of N: contiguous words
// whose index is [row bits][column bits] come out as [column bits][row bits] after log2(N) rounds, and the other way
// round after log2(C). Three columns go through Highway's interleaved loads and stores.
#if defined(CORNERTURN_NARROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_NARROW_INL
#undef CORNERTURN_NARROW_INL
#else
#define CORNERTURN_NARROW_INL
#endif

#include "kernels/cpu/block-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Effect  word c of row r, contiguous rows of C words at `from`, goes to word r of the run at to + c * pitch
// Shape   moves rows in whole vectors and returns how many it moved
template <std::size_t Word, std::size_t C>
HWY_INLINE std::int64_t split_columns(const std::byte* from, std::int64_t rows, std::byte* to, std::int64_t pitch) {
  using T = typename word_of<Word>::type;
  constexpr std::size_t vector = vector_bytes;
  const hn::FixedTag<T, vector / Word> d;
  constexpr auto step = static_cast<std::int64_t>(vector / Word);
  constexpr auto word = static_cast<std::int64_t>(Word);
  std::int64_t r = 0;
  for (; r + step <= rows; r += step) {
    const std::byte* const at = from + r * static_cast<std::int64_t>(C) * word;
    std::byte* const run = to + r * word;
    if constexpr (C == 3) {
      hn::VFromD<decltype(d)> a, b, c;
      hn::LoadInterleaved3(d, reinterpret_cast<const T*>(at), a, b, c);
      store(a, d, run);
      store(b, d, run + pitch);
      store(c, d, run + 2 * pitch);
    } else {
      hn::VFromD<decltype(d)> v[C];
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < C; ++k) {
        if constexpr (vector == 16) {
          v[k] = load(d, at + 16 * k);
        } else {
          const hn::Half<decltype(d)> half;
          v[k] = hn::Combine(d, load(half, at + 16 * (k + C)), load(half, at + 16 * k));
        }
      }
      shuffle_times<log2_of(16 / Word)>(d, v);
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < C; ++k) store(v[k], d, run + static_cast<std::int64_t>(k) * pitch);
    }
  }
  return r;
}

// Effect  word j of row k, k < C, goes to word k of the j-th group of C words at `to`
// Shape   moves columns in whole vectors and returns how many it moved
template <std::size_t Word, std::size_t C>
HWY_INLINE std::int64_t join_rows(const std::byte* const* row, std::int64_t cols, std::byte* to) {
  using T = typename word_of<Word>::type;
  constexpr std::size_t vector = vector_bytes;
  const hn::FixedTag<T, vector / Word> d;
  constexpr auto step = static_cast<std::int64_t>(vector / Word);
  constexpr auto word = static_cast<std::int64_t>(Word);
  std::int64_t j = 0;
  for (; j + step <= cols; j += step) {
    std::byte* const out = to + j * static_cast<std::int64_t>(C) * word;
    if constexpr (C == 3) {
      hn::StoreInterleaved3(load(d, row[0] + j * word), load(d, row[1] + j * word), load(d, row[2] + j * word), d,
                            reinterpret_cast<T*>(out));
    } else {
      hn::VFromD<decltype(d)> v[C];
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < C; ++k) v[k] = load(d, row[k] + j * word);
      shuffle_times<log2_of(C)>(d, v);
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < C; ++k) {
        if constexpr (vector == 16) {
          store(v[k], d, out + 16 * k);
        } else {
          const hn::Half<decltype(d)> half;
          store(hn::LowerHalf(half, v[k]), half, out + 16 * k);
          store(hn::UpperHalf(half, v[k]), half, out + 16 * (k + C));
        }
      }
    }
  }
  return j;
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
