// Many tiny matrices end to end: rows x cols words, powers of two, at most 256 bytes each, in whole registers.
//
// The words of a matrix are numbered [row bits][column bits]. A perfect shuffle of the vectors that hold it moves the
// topmost bit to the bottom, so log2(rows) of them give [column bits][row bits], which is the transpose. A matrix of
// one vector is a byte lookup. Vectors of 32 bytes hold two matrices, one in each half.
#if defined(CORNERTURN_TINY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_TINY_INL
#undef CORNERTURN_TINY_INL
#else
#define CORNERTURN_TINY_INL
#endif

#include <bit>

#include "kernels/cpu/narrow-inl.hpp"
#include "kernels/cpu/pages.hpp"
#include "kernels/cpu/panel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t tiny_bytes = 256;

[[nodiscard]] HWY_INLINE bool is_tiny_batch(const job& work) noexcept {
  if (!work.packed || work.outer.rank != 1 || work.rows.rank != 1 || work.cols.rank != 1) return false;
  const std::int64_t rows = work.rows.total;
  const std::int64_t cols = work.cols.total;
  const std::int64_t bytes = rows * cols * work.element_bytes;
  const axis& batch = work.outer.axes[0];
  return work.form.word_bytes <= 8 && bytes >= 16 && bytes <= tiny_bytes && (rows & (rows - 1)) == 0 &&
         (cols & (cols - 1)) == 0 && work.rows.axes[0].src_stride == cols && batch.src_stride == rows * cols &&
         batch.dst_stride == rows * cols && work.panels() == 1;
}

// One step: the matrices in one vector's halves, N vectors each.
template <std::size_t Word, std::size_t Vector, std::size_t N>
HWY_INLINE void tiny_step(const std::byte* from, std::byte* to, int rounds, const std::uint8_t* lookup) {
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
HWY_NOINLINE void tiny_matrices(const std::byte* from, std::byte* to, std::int64_t count, int rounds,
                                const std::uint8_t* lookup) {
  constexpr std::int64_t bytes = 16 * N;
  constexpr auto together = static_cast<std::int64_t>(vector_bytes / 16);
  for (; count >= together; count -= together, from += together * bytes, to += together * bytes) {
    tiny_step<Word, vector_bytes, N>(from, to, rounds, lookup);
  }
  for (; count > 0; --count, from += bytes, to += bytes) tiny_step<Word, 16, N>(from, to, rounds, lookup);
}

template <std::size_t Word>
void move_tiny_batch(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
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
    const auto move = [&](const std::byte* from, std::byte* to, std::int64_t count) {
      switch (bytes) {
        case 16:
          return tiny_matrices<Word, 1>(from, to, count, rounds, lookup);
        case 32:
          return tiny_matrices<Word, 2>(from, to, count, rounds, lookup);
        case 64:
          return tiny_matrices<Word, 4>(from, to, count, rounds, lookup);
        case 128:
          return tiny_matrices<Word, 8>(from, to, count, rounds, lookup);
        default:
          return tiny_matrices<Word, 16>(from, to, count, rounds, lookup);
      }
    };
    const std::byte* from = src + begin * bytes;
    std::byte* to = dst + begin * bytes;
    if (!work.streaming) return move(from, to, end - begin);
    alignas(64) std::byte carry[line_bytes] = {};
    alignas(64) std::byte room[line_bytes + packed_buffer];
    std::byte* const buffer = room + line_bytes;
    const std::int64_t batch = packed_buffer / bytes;
    page_scout scout = work.by_pages ? page_scout(from) : page_scout();
    for (std::int64_t unit = begin; unit < end; unit += batch) {
      const std::int64_t count = HWY_MIN(batch, end - unit);
      scout.fetch(count * bytes);
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
