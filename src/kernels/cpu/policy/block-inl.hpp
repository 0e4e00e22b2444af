// Register blocks: transposes of N x N words inside the 128-bit blocks of vectors, N = 16 / word size.
//
//   log2(N) rounds of   t[2i] = InterleaveLower(v[i], v[i + N/2]),  t[2i + 1] = InterleaveUpper(v[i], v[i + N/2])
//
// Each round moves one bit of the row number into the place of a column bit (a perfect shuffle); after log2(N) rounds
// v[c] is column c. A vector of V bytes holds V/16 such blocks, in one of two ways:
//   tall  the 128-bit blocks of a vector come from rows N apart: one store writes V bytes of a dst run
//   wide  a vector is V bytes of one row: fewer rows at a time, 16 bytes of a dst run per store. For 1- and 2-byte
//         words, where tall blocks would read 32 rows at once
#if defined(CORNERTURN_BLOCK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_BLOCK_INL
#undef CORNERTURN_BLOCK_INL
#else
#define CORNERTURN_BLOCK_INL
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <std::size_t Bytes>
struct word_of;
template <>
struct word_of<1> {
  using type = std::uint8_t;
};
template <>
struct word_of<2> {
  using type = std::uint16_t;
};
template <>
struct word_of<4> {
  using type = std::uint32_t;
};
template <>
struct word_of<8> {
  using type = std::uint64_t;
};
template <>
struct word_of<16> {
  using type = std::uint64_t;
};  // one 16-byte word fills a 128-bit block: nothing is interleaved

// The widest vector that the blocks use. 64-byte ones lose: two thirds of the speed in L1 (Zen 4, 2026-11-21).
inline constexpr std::size_t vector_bytes = HWY_MAX_BYTES >= 32 ? 32 : 16;

template <class D>
HWY_INLINE hn::VFromD<D> load(D d, const std::byte* from) {
  return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(from));
}

template <class D>
HWY_INLINE void store(hn::VFromD<D> v, D d, std::byte* to) {
  hn::StoreU(v, d, reinterpret_cast<hn::TFromD<D>*>(to));
}

constexpr std::size_t log2_of(std::size_t n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

// `Rounds` perfect shuffles of N vectors.
template <std::size_t Rounds, class D, std::size_t N>
HWY_INLINE void shuffle_times(D d, hn::VFromD<D> (&v)[N]) {
  HWY_UNROLL(4)
  for (std::size_t round = 0; round < Rounds; ++round) {
    hn::VFromD<D> t[N];
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < N / 2; ++i) {
      t[2 * i] = hn::InterleaveLower(d, v[i], v[i + N / 2]);
      t[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + N / 2]);
    }
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < N; ++i) v[i] = t[i];
  }
}

// A lookup table for a piece of 16 bytes: the source of each of its bytes.
using piece_order = std::array<std::uint8_t, 16>;

// Turn<Word, Words> transposes up to Words columns, or rows. turner_for() picks the smallest Words that holds `count`.
template <template <std::size_t, std::size_t> class Turn, std::size_t Word>
struct piece_turner {
  decltype(&Turn<Word, 16 / Word>::move) move;
  piece_order order;
};

template <template <std::size_t, std::size_t> class Turn, std::size_t Word, std::size_t Words = 16 / Word>
HWY_INLINE piece_turner<Turn, Word> turner_for(std::int64_t count) {
  if constexpr (Words > 2) {
    if (count <= static_cast<std::int64_t>(Words) / 2) return turner_for<Turn, Word, Words / 2>(count);
  }
  return {&Turn<Word, Words>::move, Turn<Word, Words>::order_for(count)};
}

// Rows that are `pitch` bytes apart. They need fewer registers than one pointer for each row.
struct even_rows {
  const std::byte* first;
  std::int64_t pitch;
  HWY_INLINE const std::byte* operator[](std::size_t k) const { return first + static_cast<std::int64_t>(k) * pitch; }
};

// A block loads `cols` words at byte `offset` of each of `rows` rows and stores `cols` runs of `rows` words, `pitch` bytes
// apart.
template <std::size_t Word, std::size_t Vector>
struct tall_block {
  static constexpr std::size_t n = 16 / Word;
  static constexpr std::size_t rows = Vector / Word;
  static constexpr std::size_t cols = n;

  using T = typename word_of<Word>::type;
  using Tag = hn::FixedTag<T, Vector / sizeof(T)>;

  // 16 bytes of each of the rows i, i + n, i + 2n ...
  template <class D, class Rows>
  static HWY_INLINE hn::VFromD<D> gather(D d, const Rows& row, std::size_t i, std::int64_t offset) {
    constexpr std::size_t bytes = hn::MaxLanes(D()) * sizeof(T);
    if constexpr (bytes == 16) {
      return load(d, row[i] + offset);
    } else {
      const hn::Half<D> half;
      return hn::Combine(d, gather(half, row, i + bytes / 32 * n, offset), gather(half, row, i, offset));
    }
  }

  // Transposes into registers: v[c] is run c.
  template <class Rows>
  static HWY_INLINE void turn(const Rows& row, std::int64_t offset, hn::VFromD<Tag> (&v)[n]) {
    const Tag d;
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < n; ++i) {
      v[i] = gather(d, row, i, offset);
    }
    shuffle_times<log2_of(n)>(d, v);
  }

  template <class Rows>
  static HWY_INLINE void move(const Rows& row, std::int64_t offset, std::byte* to, std::int64_t pitch) {
    const Tag d;
    hn::VFromD<Tag> v[n];
    turn(row, offset, v);
    HWY_UNROLL(16)
    for (std::size_t c = 0; c < n; ++c) store(v[c], d, to + static_cast<std::int64_t>(c) * pitch);
  }
};

template <std::size_t Word, std::size_t Vector>
struct wide_block {
  static constexpr std::size_t n = 16 / Word;
  static constexpr std::size_t rows = n;
  static constexpr std::size_t cols = Vector / Word;

  template <class Rows>
  static HWY_INLINE void move(const Rows& row, std::int64_t offset, std::byte* to, std::int64_t pitch) {
    move_halves(row, offset, to, to + static_cast<std::int64_t>(n) * pitch, pitch);
  }

  // The runs of the upper half of the columns begin at `to_upper`.
  template <class Rows>
  static HWY_INLINE void move_halves(const Rows& row, std::int64_t offset, std::byte* to,
                                     [[maybe_unused]] std::byte* to_upper, std::int64_t pitch) {
    using T = typename word_of<Word>::type;
    const hn::FixedTag<T, Vector / sizeof(T)> d;
    hn::VFromD<decltype(d)> v[n];
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < n; ++i) v[i] = load(d, row[i] + offset);
    shuffle_times<log2_of(n)>(d, v);
    HWY_UNROLL(16)
    for (std::size_t c = 0; c < n; ++c) {
      const std::int64_t run = static_cast<std::int64_t>(c) * pitch;
      if constexpr (Vector == 16) {
        store(v[c], d, to + run);
      } else {
        const hn::Half<decltype(d)> half;
        store(hn::LowerHalf(half, v[c]), half, to + run);
        store(hn::UpperHalf(half, v[c]), half, to_upper + run);
      }
    }
  }
};

// For each word size, the fastest block (best) and the smallest block (small), which takes rows and columns that are left
// over.
template <std::size_t Word>
struct blocks {
  using best = tall_block<Word, vector_bytes>;
  using small = tall_block<Word, 16>;
};
template <>
struct blocks<1> {
  using best = wide_block<1, vector_bytes>;
  using small = tall_block<1, 16>;
};
template <>
struct blocks<2> {
  using best = wide_block<2, vector_bytes>;
  using small = tall_block<2, 16>;
};

// A line of each of 64 / Word rows becomes a line of each of 64 / Word columns. A quarter is 16 bytes of columns; the
// lines of quarter q begin at to[q], `pitch` bytes apart.
template <std::size_t Word>
struct line_block {
  static constexpr std::size_t side = 64 / Word;
  using block = typename blocks<Word>::best;
  static constexpr std::size_t parts = 64 / Word / block::cols;  // groups of columns, each transposed on its own

  static HWY_INLINE void move(const std::byte* const* row, std::int64_t offset, std::byte* const (&to)[4],
                              std::int64_t pitch) {
    for (std::size_t r = 0; r < side; r += block::rows) {
      const std::byte* mine[block::rows];  // in registers along the quarters
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < block::rows; ++k) mine[k] = row[r + k] + offset;
      const auto down = static_cast<std::int64_t>(r * Word);
      if constexpr (parts == 4) {
        HWY_UNROLL(4)
        for (std::size_t q = 0; q < 4; ++q) block::move(mine, 16 * static_cast<std::int64_t>(q), to[q] + down, pitch);
      } else {
        block::move_halves(mine, 0, to[0] + down, to[1] + down, pitch);
        block::move_halves(mine, 32, to[2] + down, to[3] + down, pitch);
      }
    }
  }

  // Transposes one part. Its lines go to `to`, `pitch` bytes apart.
  static HWY_INLINE void move_part(const std::byte* const* row, std::int64_t offset, std::byte* to,
                                   std::int64_t pitch) {
    for (std::size_t r = 0; r < side; r += block::rows) {
      const std::byte* mine[block::rows];
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < block::rows; ++k) mine[k] = row[r + k] + offset;
      block::move(mine, 0, to + static_cast<std::int64_t>(r * Word), pitch);
    }
  }
};

struct no_prefetch {
  HWY_INLINE void operator()(std::int64_t /*column*/) const {}
  template <std::size_t Rows>
  HWY_INLINE void rows_from(int /*row*/, std::int64_t /*offset*/) const {}
};

// Effect  word c of each of the Block::rows rows, c in [0, cols), goes to the run at to + c * pitch
// Shape   cols >= Block::cols. The last block may overlap its neighbour: every byte read and written belongs to the
// rows
template <class Block, std::size_t Word, class Rows, class Ahead = no_prefetch>
HWY_INLINE void row_of_blocks(const Rows& row, std::int64_t cols, std::byte* to, std::int64_t pitch,
                              const Ahead& ahead = {}) {
  constexpr auto step = static_cast<std::int64_t>(Block::cols);
  constexpr auto word = static_cast<std::int64_t>(Word);
  std::int64_t c = 0;
  for (; c + step <= cols; c += step) {
    ahead(c * word);
    Block::move(row, c * word, to + c * pitch, pitch);
  }
  if (c < cols) Block::move(row, (cols - step) * word, to + (cols - step) * pitch, pitch);
}

// Transposes rows [r, rows) of a matrix, one block of rows at a time. The matrix has at least a block's rows and columns.
template <std::size_t Word, class Block = typename blocks<Word>::best, class Ahead = no_prefetch>
HWY_INLINE void rows_of_blocks(const std::byte* from, std::int64_t src_pitch, std::int64_t rows, std::int64_t r,
                               std::int64_t cols, std::byte* to, std::int64_t dst_pitch, const Ahead& ahead = {}) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr auto least = static_cast<std::int64_t>(Block::rows);
  for (; r < rows; r += least) {
    r = HWY_MIN(r, rows - least);  // the last block may overlap its neighbour
    const even_rows even{from + r * src_pitch, src_pitch};
    if constexpr (Block::rows <= 8) {
      row_of_blocks<Block, Word>(even, cols, to + r * word, dst_pitch, ahead);
    } else {  // blocks of 16 rows are faster with precomputed pointers
      const std::byte* row[Block::rows];
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < Block::rows; ++k) row[k] = even[k];
      row_of_blocks<Block, Word>(row, cols, to + r * word, dst_pitch, ahead);
    }
  }
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
