// Many small matrices, contiguous one after another. Rows and columns are powers of two. A matrix has at most 256 bytes and
// fills whole registers; with AVX-512 and words of 2 bytes or more it has at most 1024 bytes.
//
// The words of a matrix are numbered [row bits][column bits]. A perfect shuffle of the vectors that hold it moves the
// topmost bit to the bottom. So log2(rows) shuffles give [column bits][row bits], which is the transpose. A matrix of
// one vector is transposed by a byte lookup. Vectors of 32 bytes hold two matrices, one in each half.
//
// With AVX-512 one instruction selects any words of two lines. A matrix of whole lines then fills a few registers, which are
// stored without a buffer if dst begins at a line.
#if defined(CORNERTURN_SMALL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SMALL_INL
#undef CORNERTURN_SMALL_INL
#else
#define CORNERTURN_SMALL_INL
#endif

#include <bit>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/end_to_end/args.hpp"
#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/interleave-inl.hpp"
#include "kernels/cpu/policy/packed-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// One step: transposes the one or two matrices that N vectors hold in their 16-byte parts.
template <std::size_t Word, std::size_t Vector, std::size_t N>
HWY_INLINE void small_step(const std::byte* from, std::byte* to, int rounds, const std::uint8_t* lookup) {
  using T = typename word_of<Word>::type;
  const hn::FixedTag<T, Vector / Word> d;
  hn::VFromD<decltype(d)> v[N];
  HWY_UNROLL(16)
  for (std::size_t k = 0; k < N; ++k) {
    if constexpr (Vector == 16 || N == 1) {
      v[k] = load(d, from + 16 * k);
    } else {
      const hn::Half<decltype(d)> half;
      v[k] = hn::Combine(d, load(half, from + 16 * (k + N)), load(half, from + 16 * k));
    }
  }
  if constexpr (N == 1) {
    const hn::FixedTag<std::uint8_t, Vector> bytes;
    v[0] = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, v[0]), hn::LoadU(bytes, lookup)));
  } else {
    for (int round = 0; round < rounds; ++round) shuffle_times<1>(d, v);
  }
  HWY_UNROLL(16)
  for (std::size_t k = 0; k < N; ++k) {
    if constexpr (Vector == 16 || N == 1) {
      store(v[k], d, to + 16 * k);
    } else {
      const hn::Half<decltype(d)> half;
      store(hn::LowerHalf(half, v[k]), half, to + 16 * k);
      store(hn::UpperHalf(half, v[k]), half, to + 16 * (k + N));
    }
  }
}

template <std::size_t Word, std::size_t N>
HWY_NOINLINE void small_matrices(const std::byte* from, std::byte* to, std::int64_t count, int rounds,
                                 const std::uint8_t* lookup) {
  constexpr std::int64_t bytes = 16 * N;
  constexpr auto together = static_cast<std::int64_t>(vector_bytes / 16);
  for (; count >= together; count -= together, from += together * bytes, to += together * bytes) {
    small_step<Word, vector_bytes, N>(from, to, rounds, lookup);
  }
  for (; count > 0; --count, from += bytes, to += bytes) small_step<Word, 16, N>(from, to, rounds, lookup);
}

#if HWY_TARGET <= HWY_AVX3
// Transposes matrices of 1, 2, 4, 8 or 16 lines.
template <std::size_t Word, std::size_t Lines, bool Stream>
HWY_NOINLINE void turn_lines(const std::byte* from, std::byte* to, std::int64_t count, int row_bits,
                             page_prefetcher& pages) {
  constexpr std::size_t lanes = 64 / Word;
  constexpr auto bytes = static_cast<std::int64_t>(Lines * 64);
  // Matrices of up to two lines are transposed by one selection. Larger ones take perfect shuffles of two lines at a time;
  // each shuffle moves one bit.
  const int bits = Lines > 2 ? 1 : row_bits;
  const int others = static_cast<int>(log2_of(HWY_MIN(Lines, std::size_t{2}) * lanes)) - bits;
  const auto source = [&](std::size_t word) {
    return (word & ((std::size_t{1} << bits) - 1)) << others | word >> bits;
  };
  const line_picker<Word> lower(words_of_lines<Word>(source));
  const line_picker<Word> upper(words_of_lines<Word>([&](std::size_t k) { return source(lanes + k); }));
  for (; count > 0; --count, from += bytes, to += bytes) {
    pages.fetch(bytes);
    __m512i v[Lines];
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < Lines; ++k) v[k] = _mm512_loadu_si512(from + 64 * k);
    if constexpr (Lines == 1) {
      v[0] = lower(v[0], v[0]);
    } else if constexpr (Lines == 2) {
      const __m512i first = lower(v[0], v[1]);
      v[1] = upper(v[0], v[1]);
      v[0] = first;
    } else {
      for (int round = 0; round < row_bits; ++round) {
        __m512i t[Lines];
        HWY_UNROLL(8)
        for (std::size_t k = 0; k < Lines / 2; ++k) {
          t[2 * k] = lower(v[k], v[k + Lines / 2]);
          t[2 * k + 1] = upper(v[k], v[k + Lines / 2]);
        }
        HWY_UNROLL(16)
        for (std::size_t k = 0; k < Lines; ++k) v[k] = t[k];
      }
    }
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < Lines; ++k) {
      if constexpr (Stream) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 64 * k), v[k]);
      } else {
        _mm512_storeu_si512(to + 64 * k, v[k]);
      }
    }
  }
}

template <std::size_t Word, bool Stream>
HWY_INLINE bool turn_lines(const std::byte* from, std::byte* to, std::int64_t count, int row_bits, std::int64_t bytes,
                           page_prefetcher& pages) {
  if constexpr (Word == 2 || Word == 4 || Word == 8) {
    if (bytes == 64) return turn_lines<Word, 1, Stream>(from, to, count, row_bits, pages), true;
    if (bytes == 128) return turn_lines<Word, 2, Stream>(from, to, count, row_bits, pages), true;
    if (bytes == 256) return turn_lines<Word, 4, Stream>(from, to, count, row_bits, pages), true;
    if (bytes == 512) return turn_lines<Word, 8, Stream>(from, to, count, row_bits, pages), true;
    if (bytes == 1024) return turn_lines<Word, 16, Stream>(from, to, count, row_bits, pages), true;
  }
  return false;
}
#else
template <std::size_t Word, bool Stream>
bool turn_lines(const std::byte*, std::byte*, std::int64_t, int, std::int64_t, page_prefetcher&) {
  return false;
}
#endif

template <std::size_t Word>
void move_small_matrices(const end_to_end::small_args& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                         std::int64_t end) {
  if constexpr (Word <= 8) {
    const std::int64_t rows = work.rows.total;
    const std::int64_t cols = work.cols.total;
    const std::int64_t bytes = rows * cols * static_cast<std::int64_t>(Word);
    const int rounds = std::countr_zero(static_cast<std::uint64_t>(rows));
    alignas(32) std::uint8_t lookup[32] = {};
    for (std::int64_t k = 0; bytes == 16 && k < 32; ++k) {
      const std::int64_t word = k % 16 / static_cast<std::int64_t>(Word);
      const std::int64_t source = word % rows * cols + word / rows;
      lookup[k] =
          static_cast<std::uint8_t>(source * static_cast<std::int64_t>(Word) + k % static_cast<std::int64_t>(Word));
    }
    if constexpr (HWY_TARGET > HWY_AVX3) {
      if (bytes > end_to_end::small_bytes) return move_packed(work, src, dst, begin, end, block_fill<Word>(work, src));
    }
    page_prefetcher nothing;
    const auto move = [&](const std::byte* from, std::byte* to, std::int64_t count) {
      if (turn_lines<Word, false>(from, to, count, rounds, bytes, nothing)) return;
      switch (bytes) {
        case 16:
          return small_matrices<Word, 1>(from, to, count, rounds, lookup);
        case 32:
          return small_matrices<Word, 2>(from, to, count, rounds, lookup);
        case 64:
          return small_matrices<Word, 4>(from, to, count, rounds, lookup);
        case 128:
          return small_matrices<Word, 8>(from, to, count, rounds, lookup);
        default:
          return small_matrices<Word, 16>(from, to, count, rounds, lookup);
      }
    };
    const std::byte* from = src + begin * bytes;
    std::byte* to = dst + begin * bytes;
    if (!work.streaming) return move(from, to, end - begin);
    page_prefetcher pages = work.prefetches_pages ? page_prefetcher(from) : page_prefetcher();
    if (reinterpret_cast<std::uintptr_t>(to) % line_bytes == 0 &&
        turn_lines<Word, true>(from, to, end - begin, rounds, bytes, pages)) {
      return finish_streaming();
    }
    alignas(64) std::byte carry[line_bytes] = {};
    alignas(64) std::byte room[line_bytes + packed_buffer];
    std::byte* const buffer = room + line_bytes;
    const std::int64_t batch = (work.prefetches_pages ? HWY_MAX(bytes, packed_buffer / 4) : packed_buffer) / bytes;
    for (std::int64_t unit = begin; unit < end; unit += batch) {
      const std::int64_t count = HWY_MIN(batch, end - unit);
      pages.fetch(count * bytes);
      move(from, buffer, count);
      stream_piece(buffer, to, count * bytes, carry, unit == begin, unit + count == end);
      from += count * bytes;
      to += count * bytes;
    }
    finish_streaming();
  }
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
