// Small tiles: rows and columns that stay in L2, of any extents, leading dimensions and addresses. They are bound by latency,
// so each thread has few elements and instructions, and a kernel reads few lines of arguments. An element is one word, or three.
//   1. neighbouring threads load neighbouring words of a row, all before they use the first
//   2. they store them to shared memory. A row's pitch there spreads a column over all banks
//   3. after a barrier neighbouring threads store neighbouring words of a column to dst
// The rows `_single` are tiles of narrow elements, without the words of words.cuh: few instructions, where few tiles wait for a long
// one.
// Stores of parts of sectors are slow in L2, unaligned loads are not: docs/log/gpu.md. So the tiles of the rows `_sectors` store the
// sectors of a column that begin in their rows, and load the rows that the last one reaches into, the halo. That text is longer, so it
// is a row of its own.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/small/place.cuh"

namespace cornerturn::gpu {

// Elements of one word, or of three words. Neighbouring words of a column are in other banks. If the words are narrow, the pitch is
// an odd number of 4 bytes; for three wide words it is three words more than a multiple of all banks.
template <int WordBytes, int Words, int Extent>
struct small_rows {
  static constexpr int parts = Extent * Words;  // words of a row, and of a column
  // Of `_sectors`: a sector reaches so many rows into the next tile at most.
  static constexpr int halo_rows = WordBytes < 4 ? 0 : (sector_bytes / WordBytes - 1 + Words - 1) / Words;
  static constexpr int of_banks = 128 / WordBytes;
  static constexpr int pitch = WordBytes < 4 ? parts + 4 / WordBytes
                               : Words == 1  ? parts + 1
                                             : (parts + of_banks - 4) / of_banks * of_banks + 3;
};

// The words that a thread moves: word `part` of lines `line`, `line + lines` and so on of a tile, in src and in dst.
template <int WordBytes, int Words, int Extent, int Threads>
struct small_task {
  using at = small_rows<WordBytes, Words, Extent>;
  using word = word_t<WordBytes>;
  static constexpr int lines = Threads / at::parts, steps = Extent / lines;
  static_assert(lines * at::parts == Threads && steps * lines == Extent);
  int part = static_cast<int>(thread_index() % at::parts), line = static_cast<int>(thread_index() / at::parts);
  int element = part / Words, in_element = part % Words;
  word* stored = reinterpret_cast<word*>(shared_memory()) + line * at::pitch + part;

  GPU_INLINE int64_t word_of(uint32_t index) const { return int64_t{static_cast<int32_t>(index)} * Words + in_element; }
  // Word `index` of the column of step k, in shared memory.
  GPU_INLINE word read(int k, int index) const {
    const auto* const tile = reinterpret_cast<const word*>(shared_memory());
    return tile[index / Words * at::pitch + index % Words + (line + k * lines) * Words];
  }
  // `from` and `to` return the address of a step's word, `exists` whether the column does.
  template <class From, class To, class Exists>
  GPU_INLINE void run(const From& from, const To& to, const Exists& exists) const {
    wait_for_earlier_launches<Extent * Extent * WordBytes * Words>();
    word held[steps];
    GPU_UNROLL for (int k = 0; k < steps; ++k) held[k] = load_global<word>(from(k));     // 1.
    GPU_UNROLL for (int k = 0; k < steps; ++k) stored[k * lines * at::pitch] = held[k];  // 2.
    block_barrier();  // orders the words stored in 2 before their reads in 3
    GPU_UNROLL for (int k = 0; k < steps; ++k) held[k] = read(k, part);
    GPU_UNROLL for (int k = 0; k < steps; ++k) {
      if (exists(k)) store_global(to(k), held[k]);  // 3.
    }
  }
  // As run(), of whole sectors. Step `steps` of `from` is the halo, and `exists` returns whether the column has the word that is so many
  // words further. Columns that are two steps apart begin equally far before a sector.
  template <class From, class To, class Exists>
  GPU_INLINE void run_sectors(bool is_first, const From& from, const To& to, const Exists& exists) const {
    static_assert(2 * lines * Words * WordBytes % sector_bytes == 0 && steps % 2 == 0 && at::halo_rows <= lines);
    int further[2];  // words from the one at `to` to the one that the thread stores
    GPU_UNROLL for (int k = 0; k < 2; ++k) {
      const uint32_t column = low_word(to(k)) - static_cast<uint32_t>(part) * WordBytes;
      further[k] = static_cast<int>((0 - column) % sector_bytes / WordBytes);
    }
    wait_for_earlier_launches<Extent * Extent * WordBytes * Words>();
    const bool loads_halo = line < at::halo_rows;
    word held[steps], halo{};
    GPU_UNROLL for (int k = 0; k < steps; ++k) held[k] = load_global<word>(from(k));  // 1.
    if (loads_halo) halo = load_global<word>(from(steps));
    GPU_UNROLL for (int k = 0; k < steps; ++k) stored[k * lines * at::pitch] = held[k];  // 2.
    if (loads_halo) stored[Extent * at::pitch] = halo;
    block_barrier();  // orders the words stored in 2 before their reads in 3
    GPU_UNROLL for (int k = 0; k < steps; ++k) held[k] = read(k, part + further[k % 2]);
    GPU_UNROLL for (int k = 0; k < steps; ++k) {
      if (exists(k, further[k % 2])) store_global(to(k) + further[k % 2], held[k]);  // 3.
    }
    if (!is_first) return;
    GPU_UNROLL for (int k = 0; k < steps; ++k) {  // the words before the first sector
      if (part < further[k % 2] && exists(k, 0)) store_global(to(k), read(k, part));
    }
  }
};

// Most tiles are whole, and each side is one axis. Then a line takes one instruction for its address and none for its end: 60
// instructions a thread for float32. Other tiles load the last row or column of the matrix again where their own do not exist, so
// they test nothing before 3.
template <int WordBytes, int Words, int Extent, bool Fused, bool Sectors, int Threads>
GPU_INLINE void transpose_small(const small_place<Fused>& here) {
  using word = word_t<WordBytes>;
  const small_task<WordBytes, Words, Extent, Threads> mine;
  constexpr int Lines = mine.lines, Steps = mine.steps,
                HaloRows = Sectors ? small_rows<WordBytes, Words, Extent>::halo_rows : 0;
  const auto* const src = static_cast<const word*>(here.args.src);
  auto* const dst = static_cast<word*>(here.args.dst);
  const bool is_first = here.first_row == 0;
  const uint32_t row = here.first_row + mine.element, col = here.first_col + mine.element;
  if (here.is_whole(Extent + HaloRows, Extent)) {
    const auto src_ld = static_cast<uint32_t>(here.args.src_ld), dst_ld = static_cast<uint32_t>(here.args.dst_ld);
    const word* const src_word = src + mine.word_of(here.src + (here.first_row + mine.line) * src_ld + col);
    word* const dst_word = dst + mine.word_of(here.dst + (here.first_col + mine.line) * dst_ld + row);
    const auto step = [](uint32_t ld, int k) { return int64_t{static_cast<int32_t>(ld * Lines)} * (k * Words); };
    const auto from = [&](int k) { return src_word + step(src_ld, k); };
    const auto to = [&](int k) { return dst_word + step(dst_ld, k); };
    if constexpr (Sectors) return mine.run_sectors(is_first, from, to, [](int, int) { return true; });
    return mine.run(from, to, [](int) { return true; });
  }
  const auto least = [](uint32_t one, uint32_t other) { return one < other ? one : other; };
  const uint32_t last_row = here.args.rows - 1, loaded_col = least(col, here.args.cols - 1);
  uint32_t rows[Steps + (Sectors ? 1 : 0)], columns[Steps];
  here.set_rows(rows, [&](int k) { return least(here.first_row + mine.line + k * Lines, last_row); });
  here.set_columns(columns, here.first_col + mine.line, Lines);
  const auto from = [&](int k) { return src + mine.word_of(rows[k] + loaded_col); };
  const auto to = [&](int k) { return dst + mine.word_of(columns[k] + row); };
  const int cols_left = static_cast<int>(here.args.cols - here.first_col) - mine.line;
  if constexpr (Sectors) {
    const int words_left = static_cast<int>(here.args.rows - here.first_row) * Words - mine.part;
    mine.run_sectors(is_first, from, to,
                     [&](int k, int further) { return k * Lines < cols_left && further < words_left; });
  } else {
    const int cols_of_row = row <= last_row ? cols_left : 0;
    mine.run(from, to, [&](int k) { return k * Lines < cols_of_row; });
  }
}

template <int WordBytes, int Words, int Extent, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_kernel(GPU_PARAMETER small_args_t<Fused> args) {
  const small_place<Fused> here(args, Extent, Extent);
  transpose_small<WordBytes, Words, Extent, Fused, false, threads_of(Limits)>(here);
}

template <int WordBytes, int Words, int Extent, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_sectors_kernel(GPU_PARAMETER small_args args) {
  const small_place<false> here(args, Extent, Extent);
  transpose_small<WordBytes, Words, Extent, false, true, threads_of(Limits)>(here);
}

}  // namespace cornerturn::gpu
