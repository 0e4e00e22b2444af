// Small tiles: rows and columns that stay in L2, of any extents, leading dimensions and addresses. They are bound by latency,
// so each thread has few elements, every edge is tested, and a kernel reads few lines of arguments. An element is one word, or
// three.
//   1. neighbouring threads load neighbouring words of a row, all before they use the first
//   2. they store them to shared memory. A row's pitch there spreads a column over all banks
//   3. after a barrier neighbouring threads store neighbouring words of a column to dst
// For elements of 1 and 2 bytes a word is 4 bytes of them. Then a thread loads a word of each of V rows, transposes V x V elements
// in registers, and stores V words of columns in 2. In 3 a word of dst is aligned, and may span two words of its column: a tile
// has the words that begin in its rows, and loads V rows more. Only tiles of the first rows store the elements before the first
// word. The rows `_single` move the same elements without words: one 32 x 32 tile has few instructions, where few tiles wait
// for a long one.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {

// Elements of 1 and 2 bytes.
template <int WordBytes, int Extent>
struct small_tile {
  static constexpr int v = 4 / WordBytes;
  static constexpr int parts = Extent / v;  // words of a row, and of a column
  // Shared memory has columns. A column has a word of the halo. The skew maps every v-th column, to which lanes store, to other
  // banks.
  static constexpr int pitch = parts + 1;
  static constexpr int skew = v / 2;
  GPU_INLINE static int word_of(int column, int part) { return column * pitch + column / 32 * skew + part; }
};

// Elements of one word, or of three words. Neighbouring words of a column are in other banks. If the words are narrow, the pitch is
// an odd number of 4 bytes; for three wide words it is three words more than a multiple of all banks.
template <int WordBytes, int Words, int Extent>
struct small_rows {
  static constexpr int parts = Extent * Words;  // words of a row, and of a column
  static constexpr int of_banks = 128 / WordBytes;
  static constexpr int pitch = WordBytes < 4 ? parts + 4 / WordBytes
                               : Words == 1  ? parts + 1
                                             : (parts + of_banks - 4) / of_banks * of_banks + 3;
};

// Where a tile is, and its offsets in elements. They are computed for all lines of a thread before the first load.
GPU_INLINE uint32_t split_line(const small_side& side, uint32_t ld, uint32_t index) {
  const uint32_t above = side.count.quotient(index);
  return (index - above * side.count.divisor) * ld + above * static_cast<uint32_t>(side.ld);
}
template <bool Fused>
struct small_place {
  const small_args_t<Fused>& args;
  uint32_t first_row, first_col;
  uint32_t src = 0, dst = 0;

  GPU_INLINE small_place(const small_args_t<Fused>& all, int extent) : args(all) {
    const auto block = block_in_grid(args.tiles_across, args.tiles_down);
    first_row = block.y * extent;
    first_col = block.x * extent;
    if constexpr (Fused) {
      src = block.z * static_cast<uint32_t>(args.src_stride);
      dst = block.z * static_cast<uint32_t>(args.dst_stride);
      GPU_UNROLL for (const auto& axis : args.outer) {
        const uint32_t quotient = axis.faster.quotient(block.z);
        src += quotient * static_cast<uint32_t>(axis.src_step);
        dst += quotient * static_cast<uint32_t>(axis.dst_step);
      }
    }
  }
  template <int Count>
  GPU_INLINE void set_rows(uint32_t (&line)[Count], uint32_t row, uint32_t step) const {
    const auto ld = static_cast<uint32_t>(args.src_ld);
    GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = src + (row + k * step) * ld;
    if constexpr (Fused) {
      if (args.row_axes.is_split == 0) return;
      GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = src + split_line(args.row_axes, ld, row + k * step);
    }
  }
  template <int Count>
  GPU_INLINE void set_columns(uint32_t (&line)[Count], uint32_t column, uint32_t step) const {
    const auto ld = static_cast<uint32_t>(args.dst_ld);
    GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = dst + (column + k * step) * ld;
    if constexpr (Fused) {
      if (args.col_axes.is_split == 0) return;
      GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = dst + split_line(args.col_axes, ld, column + k * step);
    }
  }
};

template <int WordBytes, int Words, int Extent, bool Fused, int Threads>
GPU_INLINE void transpose_small(const small_place<Fused>& here) {
  using at = small_rows<WordBytes, Words, Extent>;
  using word = word_t<WordBytes>;
  constexpr int Lines = Threads / at::parts, Steps = Extent / Lines;
  static_assert(Lines * at::parts == Threads && Steps * Lines == Extent);
  auto* const tile = reinterpret_cast<word*>(shared_memory());
  const auto part = static_cast<int>(thread_index() % at::parts), line = static_cast<int>(thread_index() / at::parts);
  const int element = part / Words, in_element = part % Words;
  uint32_t rows[Steps], columns[Steps];
  here.set_rows(rows, here.first_row + line, Lines);
  const uint32_t col = here.first_col + element, row = here.first_row + element;
  const auto word_of = [&](uint32_t index) { return int64_t{static_cast<int32_t>(index)} * Words + in_element; };
  here.set_columns(columns, here.first_col + line, Lines);
  wait_for_earlier_launches<Extent * Extent * WordBytes * Words>();
  GPU_UNROLL for (int k = 0; k < Steps; ++k) {
    if (here.first_row + line + k * Lines < here.args.rows && col < here.args.cols) {
      tile[(line + k * Lines) * at::pitch + part] =
          load_global<word>(static_cast<const word*>(here.args.src) + word_of(rows[k] + col));  // 1., 2.
    }
  }
  block_barrier();  // orders the words stored in 2 before their reads in 3
  GPU_UNROLL for (int k = 0; k < Steps; ++k) {
    if (here.first_col + line + k * Lines < here.args.cols && row < here.args.rows) {
      store_global(static_cast<word*>(here.args.dst) + word_of(columns[k] + row),
                   tile[element * at::pitch + (line + k * Lines) * Words + in_element]);  // 3.
    }
  }
}

// The two aligned words of src that hold an unaligned one.
struct halves {
  uint32_t low = 0, high = 0;
  uint32_t shift = 0;    // bits
  bool is_whole = true;  // false: one of them reaches out of src
};
GPU_INLINE halves load_halves(const array_args& args, const unsigned char* from) {
  halves made;
  const uint32_t misplaced = low_word(from) & 3;
  const unsigned char* const aligned = from - misplaced;
  // src has fewer than 2^31 bytes, so differences of low words do not overflow.
  const auto before = static_cast<int32_t>(low_word(aligned) - static_cast<uint32_t>(args.src_begin));
  const auto behind = static_cast<int32_t>(static_cast<uint32_t>(args.src_end) - low_word(aligned));
  made.shift = misplaced * 8;
  made.is_whole = before >= 0 && behind >= (misplaced == 0 ? 4 : 8);
  if (made.is_whole) made.low = load_global<uint32_t>(aligned);
  if (made.is_whole && misplaced != 0) made.high = load_global<uint32_t>(aligned + 4);
  return made;
}

// V words of V rows, which become V words of columns.
template <int WordBytes, int Extent, bool Fused>
struct small_block {
  using at = small_tile<WordBytes, Extent>;
  static constexpr int V = at::v;
  halves loaded[V];
  uint32_t rows[V];

  GPU_INLINE const unsigned char* address(const small_place<Fused>& here, int part, int k) const {
    const auto index = static_cast<int32_t>(rows[k] + here.first_col + part * V);
    return static_cast<const unsigned char*>(here.args.src) + int64_t{index} * WordBytes;
  }
  GPU_INLINE void load(const small_place<Fused>& here, int part, int group) {  // 1.
    const uint32_t row = here.first_row + group * V;
    here.set_rows(rows, row, 1);
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (row + k < here.args.rows && here.first_col + part * V < here.args.cols) {
        loaded[k] = load_halves(here.args, address(here, part, k));
      }
    }
  }
  GPU_INLINE void store(const small_place<Fused>& here, int part, int group) const {  // 2.
    uint32_t w[V];
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      w[k] = funnel_shift_right(loaded[k].low, loaded[k].high, loaded[k].shift);
      if (!loaded[k].is_whole) w[k] = load_unaligned(address(here, part, k), here.args.src_begin, here.args.src_end);
    }
    auto* const tile = reinterpret_cast<uint32_t*>(shared_memory());
    if constexpr (WordBytes == 2) {
      tile[at::word_of(part * 2, group)] = byte_permute(w[0], w[1], 0x5410);
      tile[at::word_of(part * 2 + 1, group)] = byte_permute(w[0], w[1], 0x7632);
    } else {
      const uint32_t low01 = byte_permute(w[0], w[1], 0x5140), low23 = byte_permute(w[2], w[3], 0x5140);
      const uint32_t high01 = byte_permute(w[0], w[1], 0x7362), high23 = byte_permute(w[2], w[3], 0x7362);
      tile[at::word_of(part * 4, group)] = byte_permute(low01, low23, 0x5410);
      tile[at::word_of(part * 4 + 1, group)] = byte_permute(low01, low23, 0x7632);
      tile[at::word_of(part * 4 + 2, group)] = byte_permute(high01, high23, 0x5410);
      tile[at::word_of(part * 4 + 3, group)] = byte_permute(high01, high23, 0x7632);
    }
  }
};

// Elements before the first word of a column.
template <int WordBytes>
GPU_INLINE uint32_t elements_before(const unsigned char* to) {
  return (0 - low_word(to)) % 4 / WordBytes;
}
// Stores elements [0, count) of a word.
template <int WordBytes>
GPU_INLINE void store_elements(unsigned char* to, uint32_t word, uint32_t count) {
  GPU_UNROLL for (uint32_t k = 0; k < 4 / WordBytes - 1; ++k) {
    if (k < count) store_global(to + k * WordBytes, static_cast<word_t<WordBytes>>(word >> k * 8 * WordBytes));
  }
}

template <int WordBytes, int Extent, bool Fused, int Threads>
GPU_INLINE void transpose_small_words(const small_place<Fused>& here) {
  using at = small_tile<WordBytes, Extent>;
  constexpr int V = at::v, Lines = Threads / at::parts, Blocks = at::parts / Lines, Steps = Extent / Lines;
  const auto part = static_cast<int>(thread_index() % at::parts), line = static_cast<int>(thread_index() / at::parts);
  small_block<WordBytes, Extent, Fused> block[Blocks], halo;
  wait_for_earlier_launches<Extent * Extent * WordBytes>();
  GPU_UNROLL for (int k = 0; k < Blocks; ++k) block[k].load(here, part, line + k * Lines);
  const bool has_halo = here.args.halo != 0 && line == 0;
  if (has_halo) halo.load(here, part, at::parts);
  GPU_UNROLL for (int k = 0; k < Blocks; ++k) block[k].store(here, part, line + k * Lines);
  if (has_halo) halo.store(here, part, at::parts);
  uint32_t columns[Steps];
  here.set_columns(columns, here.first_col + line, Lines);
  block_barrier();  // orders the words stored in 2 before their reads in 3
  const auto* const words = reinterpret_cast<const uint32_t*>(shared_memory());
  const auto address = [&](uint32_t column) {
    return static_cast<unsigned char*>(here.args.dst) +
           int64_t{static_cast<int32_t>(column + here.first_row + part * V)} * WordBytes;
  };
  GPU_UNROLL for (int k = 0; k < Steps; ++k) {  // 3.
    if (here.first_col + line + k * Lines >= here.args.cols) continue;
    unsigned char* const to = address(columns[k]);
    const uint32_t before = elements_before<WordBytes>(to);
    const int at_word = at::word_of(line + k * Lines, part);
    const uint32_t word = funnel_shift_right(words[at_word], words[at_word + 1], before * 8 * WordBytes);
    const uint32_t row = here.first_row + part * V + before;
    if (row + V <= here.args.rows) {
      store_global(to + before * WordBytes, word);
    } else if (row < here.args.rows) {
      store_elements<WordBytes>(to + before * WordBytes, word, here.args.rows - row);
    }
  }
  if (here.args.halo == 0 || here.first_row != 0 || part != 0) return;
  GPU_UNROLL for (int k = 0; k < Steps; ++k) {
    if (here.first_col + line + k * Lines >= here.args.cols) continue;
    const uint32_t before = elements_before<WordBytes>(address(columns[k]));
    store_elements<WordBytes>(address(columns[k]), words[at::word_of(line + k * Lines, 0)],
                              before < here.args.rows ? before : here.args.rows);
  }
}

template <int WordBytes, int Words, int Extent, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_kernel(GPU_PARAMETER small_args_t<Fused> args) {
  const small_place<Fused> here(args, Extent);
  if constexpr (WordBytes < 4 && Words == 1) {
    transpose_small_words<WordBytes, Extent, Fused, threads_of(Limits)>(here);
  } else {
    transpose_small<WordBytes, Words, Extent, Fused, threads_of(Limits)>(here);
  }
}

template <int WordBytes, int Extent, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_single_kernel(GPU_PARAMETER small_args_t<Fused> args) {
  const small_place<Fused> here(args, Extent);
  transpose_small<WordBytes, 1, Extent, Fused, threads_of(Limits)>(here);
}

}  // namespace cornerturn::gpu
