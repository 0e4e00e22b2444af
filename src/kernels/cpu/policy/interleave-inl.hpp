// A few columns (2, 3, 4, 8, 16) or a few rows (2, 3, 4, 8): arrays of structures to structures of arrays and back, at
// full vectors.
//
// If C is a power of two, the shuffle rounds of block-inl.hpp work on C vectors instead of N. After log2(N) rounds, words with
// index [row bits][column bits] have the index [column bits][row bits]: columns are split. log2(C) rounds are the inverse:
// rows are joined. Three columns use Highway's interleaved loads and stores. With AVX-512 and words of 2 bytes or more, each
// of the three lines takes two instructions.
#if defined(CORNERTURN_NARROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_NARROW_INL
#undef CORNERTURN_NARROW_INL
#else
#define CORNERTURN_NARROW_INL
#endif

#include <array>

#include "kernels/cpu/policy/block-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3
// For each word of a line, the number of its source word.
template <std::size_t Word, class Source>
constexpr auto words_of_lines(const Source& source) {
  using lane = typename word_of<Word>::type;
  std::array<lane, 64 / Word> index{};
  for (std::size_t k = 0; k < index.size(); ++k) index[k] = static_cast<lane>(source(k));
  return index;
}

// Selects the words of one line from two lines.
template <std::size_t Word>
class line_picker {
 public:
  explicit HWY_INLINE line_picker(const std::array<typename word_of<Word>::type, 64 / Word>& index) noexcept
      : index_(_mm512_loadu_si512(index.data())) {}
  HWY_INLINE __m512i operator()(__m512i a, __m512i b) const noexcept {
    if constexpr (Word == 2) return _mm512_permutex2var_epi16(a, index_, b);
    if constexpr (Word == 4) return _mm512_permutex2var_epi32(a, index_, b);
    return _mm512_permutex2var_epi64(a, index_, b);
  }

 private:
  __m512i index_;
};

// Selects three lines from three lines. Split: each result line is every third word. Else the words of the three lines are
// interleaved.
template <std::size_t Word, bool Split>
class three_lines {
 public:
  static constexpr std::size_t lanes = 64 / Word;

  HWY_INLINE three_lines() noexcept
      : two_{line_picker<Word>(first_two<0>), line_picker<Word>(first_two<1>), line_picker<Word>(first_two<2>)},
        third_{line_picker<Word>(then_third<0>), line_picker<Word>(then_third<1>), line_picker<Word>(then_third<2>)} {}

  HWY_INLINE void operator()(const std::byte* const (&from)[3], std::byte* const (&to)[3]) const noexcept {
    const __m512i a = _mm512_loadu_si512(from[0]), b = _mm512_loadu_si512(from[1]), c = _mm512_loadu_si512(from[2]);
    HWY_UNROLL(3)
    for (std::size_t k = 0; k < 3; ++k) _mm512_storeu_si512(to[k], third_[k](two_[k](a, b), c));
  }

 private:
  static constexpr std::size_t source(std::size_t line, std::size_t k) {
    const std::size_t word = line * lanes + k;
    return Split ? 3 * k + line : word % 3 * lanes + word / 3;
  }
  template <std::size_t Line>
  static constexpr auto first_two = words_of_lines<Word>([](std::size_t k) {
    return source(Line, k) < 2 * lanes ? source(Line, k) : 0;
  });
  template <std::size_t Line>
  static constexpr auto then_third = words_of_lines<Word>([](std::size_t k) {
    return source(Line, k) < 2 * lanes ? k : source(Line, k) - lanes;
  });

  line_picker<Word> two_[3];
  line_picker<Word> third_[3];
};
#endif

// Effect  copies word c of row r to word r of the run at to + c * pitch. The rows have C words and are contiguous at `from`
// Shape   takes only rows that fill whole vectors, and returns their number
template <std::size_t Word, std::size_t C>
HWY_INLINE std::int64_t split_columns(const std::byte* from, std::int64_t rows, std::byte* to, std::int64_t pitch) {
  using T = typename word_of<Word>::type;
  const hn::FixedTag<T, vector_bytes / Word> d;
  constexpr auto step = static_cast<std::int64_t>(vector_bytes / Word);
  constexpr auto word = static_cast<std::int64_t>(Word);
  std::int64_t r = 0;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (C == 3 && Word >= 2) {
    const three_lines<Word, true> split;
    for (; r + 2 * step <= rows; r += 2 * step) {
      const std::byte* const at = from + r * 3 * word;
      std::byte* const run = to + r * word;
      split({at, at + 64, at + 128}, {run, run + pitch, run + 2 * pitch});
    }
  }
#endif
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
        if constexpr (vector_bytes == 16) {
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

// Effect  copies word j of row k, k < C, to word k of the j-th group of C words at `to`
// Shape   takes only columns that fill whole vectors, and returns their number
template <std::size_t Word, std::size_t C>
HWY_INLINE std::int64_t join_rows(const std::byte* const* row, std::int64_t cols, std::byte* to) {
  using T = typename word_of<Word>::type;
  const hn::FixedTag<T, vector_bytes / Word> d;
  constexpr auto step = static_cast<std::int64_t>(vector_bytes / Word);
  constexpr auto word = static_cast<std::int64_t>(Word);
  std::int64_t j = 0;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (C == 3 && Word >= 2) {
    const three_lines<Word, false> join;
    for (; j + 2 * step <= cols; j += 2 * step) {
      std::byte* const out = to + j * 3 * word;
      join({row[0] + j * word, row[1] + j * word, row[2] + j * word}, {out, out + 64, out + 128});
    }
  }
#endif
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
        if constexpr (vector_bytes == 16) {
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
