// Small tiles: rows and columns that stay in L2, of any extents, leading dimensions and addresses. They are bound by latency,
// so each thread has few elements and instructions, and a kernel reads few lines of arguments. An element is one word, or three.
//   1. neighbouring threads load neighbouring words of a row, all before they use the first
//   2. they store them to shared memory. A row's pitch there spreads a column over all banks
//   3. after a barrier neighbouring threads store neighbouring words of a column to dst
// Elements of 1, 2, 3 and 6 bytes may also move as words of 4 bytes. Then a thread loads one word, or three, of each of V rows,
// transposes V x V elements in registers, and stores the words of V columns in 2. In 3 a word of dst is aligned, and may span two
// words of its column: a tile has the words that begin in its rows, and loads the rows that the last word reaches into, the halo.
// Only tiles of the first rows store the elements before the first word. The rows `_single` move the same elements without words:
// one such tile has few instructions, where few tiles wait for a long one.
// Stores of parts of sectors are slow in L2, unaligned loads are not: docs/log/gpu.md. So the tiles of the rows `_sectors` store the
// sectors of a column that begin in their rows, and load the rows that the last one reaches into, a halo as well. That text is longer,
// so it is a row of its own.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {

// Elements of 1, 2, 3 and 6 bytes, as words of 4 bytes. A block is V x V elements: its rows and its columns are whole words.
template <int ElementBytes, int Rows, int Cols>
struct small_tile {
  static constexpr int element_bytes = ElementBytes, rows = Rows, cols = Cols;
  static constexpr int words = ElementBytes % 3 == 0 ? 3 : 1;  // of a block's row, and of its column
  static constexpr int v = 4 * words / ElementBytes;
  static constexpr int across = Cols / v;                     // blocks along a row
  static constexpr int line_words = Rows * ElementBytes / 4;  // of a column
  static constexpr int pitch = line_words + 1;                // an odd number; a column has a word of the halo
  static constexpr int unit = ElementBytes % 2 == 0 ? 2 : 1;  // every address is a multiple
  static constexpr int halo_rows = (4 - unit + ElementBytes - 1) / ElementBytes;
};

// Elements of one word, or of three words. Neighbouring words of a column are in other banks. If the words are narrow, the pitch is
// an odd number of 4 bytes; for three wide words it is three words more than a multiple of all banks.
inline constexpr int sector_bytes = 32;
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

  GPU_INLINE small_place(const small_args_t<Fused>& all, int rows, int cols) : args(all) {
    const auto block = block_in_grid(args.tiles_across, args.tiles_down);
    first_row = block.y * rows;
    first_col = block.x * cols;
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
  // Every row and every column of the tile exists, and each side is one axis.
  GPU_INLINE bool is_whole(int rows, int cols) const {
    if constexpr (Fused) {
      if (args.row_axes.is_split != 0 || args.col_axes.is_split != 0) return false;
    }
    return first_row + rows <= args.rows && first_col + cols <= args.cols;
  }
  // row_of(k) is the row of line k.
  template <int Count, class RowOf>
  GPU_INLINE void set_rows(uint32_t (&line)[Count], const RowOf& row_of) const {
    const auto ld = static_cast<uint32_t>(args.src_ld);
    GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = src + row_of(k) * ld;
    if constexpr (Fused) {
      if (args.row_axes.is_split == 0) return;
      GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = src + split_line(args.row_axes, ld, row_of(k));
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

// Word `word` of column `column` of a block: byte k of a column is byte k % ElementBytes of its element in row k / ElementBytes. All
// indices are constants once the loops of the callers are unrolled.
template <int ElementBytes, int V, int Words>
GPU_INLINE uint32_t column_word(const uint32_t (&row)[V][Words], int column, int word) {
  const auto row_of = [&](int k) { return (word * 4 + k) / ElementBytes; };
  const auto byte_of = [&](int k) { return column * ElementBytes + (word * 4 + k) % ElementBytes; };
  const auto is_next = [&](int k) { return row_of(k) != row_of(k - 1) || byte_of(k) / 4 != byte_of(k - 1) / 4; };
  uint32_t made = row[row_of(0)][byte_of(0) / 4], selector = 0;
  bool is_placed = false;  // byte i of `made` is byte i of the word
  GPU_UNROLL for (int k = 1; k < 4; ++k) {
    if (!is_next(k)) continue;
    selector = 0;
    GPU_UNROLL for (int i = 0; i < 4; ++i) {
      selector |= static_cast<uint32_t>(i >= k ? 4 + byte_of(i) % 4 : is_placed ? i : byte_of(i) % 4) << 4 * i;
    }
    made = byte_permute(made, row[row_of(k)][byte_of(k) / 4], selector);
    is_placed = true;
  }
  if (is_placed) return made;
  GPU_UNROLL for (int i = 0; i < 4; ++i) selector |= static_cast<uint32_t>(byte_of(i) % 4) << 4 * i;
  return byte_permute(made, made, selector);
}

// Src as aligned words. Offsets count bytes from the first one. They are modulo 2^32, because src has fewer than 2^31 bytes.
struct small_source {
  const unsigned char* src;
  uint32_t origin;     // of src, index 0
  int32_t begin, end;  // of all bytes: -3 <= begin <= 0
  int32_t words_end;   // of the words that have no other bytes

  GPU_INLINE explicit small_source(const array_args& args) : src(static_cast<const unsigned char*>(args.src)) {
    begin = -static_cast<int32_t>(0 - static_cast<uint32_t>(args.src_begin) & 3);
    origin = low_word(args.src) - static_cast<uint32_t>(args.src_begin) + static_cast<uint32_t>(begin);
    end = static_cast<int32_t>(static_cast<uint32_t>(args.src_end) - low_word(args.src) + origin);
    words_end = end < 0 ? 0 : end & ~3;
  }
  GPU_INLINE const unsigned char* address(uint32_t offset) const { return src + static_cast<int32_t>(offset - origin); }
  // At offsets [0, starts_of(bytes)) so many bytes may begin that they are in words within src.
  GPU_INLINE uint32_t starts_of(int32_t bytes) const {
    return words_end < bytes ? 0 : static_cast<uint32_t>(words_end - bytes + 1);
  }
};

// The words of Count rows of a block. A row that does not exist is the last one, again.
template <class At, bool Fused, int Count>
struct small_block {
  static constexpr int words = At::words;
  uint32_t offset[Count];
  bool exists = false;
  bool is_cut = false;                // some word is not within src, and is 0
  uint32_t loaded[Count][words + 1];  // aligned

  GPU_INLINE void place(const small_place<Fused>& here, const small_source& src, int number, int row) {
    const uint32_t col = here.first_col + number * At::v, last = here.args.rows - 1;
    exists = here.first_row + row <= last && col < here.args.cols;
    uint32_t rows[Count];
    here.set_rows(rows, [&](int k) { return here.first_row + row + k < last ? here.first_row + row + k : last; });
    const uint32_t starts = src.starts_of(4 * words);
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      offset[k] = src.origin + (rows[k] + col) * At::element_bytes;
      is_cut = is_cut || offset[k] >= starts;
    }
    is_cut = is_cut && exists;
  }
  GPU_INLINE void load(const small_source& src) {  // 1.
    if (is_cut) {
      load_words<true>(src);
    } else {
      load_words<false>(src);
    }
  }
  template <bool Cut>
  GPU_INLINE void load_words(const small_source& src) {
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      const uint32_t first = offset[k] & ~3u;
      const unsigned char* const from = src.address(first);
      GPU_UNROLL for (int i = 0; i <= words; ++i) {
        const bool is_used = exists && (i < words || (offset[k] & 3) != 0);
        const bool is_inside = !Cut || first + 4 * i < static_cast<uint32_t>(src.words_end);
        loaded[k][i] = is_used && is_inside ? load_global<uint32_t>(from + 4 * i) : 0;
      }
    }
  }
  // The block's words; rows from Count on are 0.
  GPU_INLINE void realign(uint32_t (&row)[At::v][words]) const {
    GPU_UNROLL for (int k = 0; k < At::v; ++k) {
      GPU_UNROLL for (int i = 0; i < words; ++i) {
        row[k][i] = k < Count ? funnel_shift_right(loaded[k][i], loaded[k][i + 1], offset[k] * 8 & 31) : 0;
      }
    }
  }
  // 2. Stores the bytes of words that are not within src. `to` is the block's place in shared memory: it has whole columns, or
  // their first words.
  GPU_INLINE void store_cut(const small_source& src, uint32_t* to, bool whole) const {
    if (!is_cut) return;
    auto* const bytes = reinterpret_cast<unsigned char*>(to);
    GPU_UNROLL_BY(1) for (int32_t i = 0; i < 6; ++i) {
      const int32_t byte = i < 3 ? i - 3 : src.words_end + i - 3;
      if (byte < src.begin || byte >= src.end) continue;
      const auto value = load_global<unsigned char>(src.address(static_cast<uint32_t>(byte)));
      GPU_UNROLL for (int k = 0; k < Count; ++k) {
        const uint32_t in_row = static_cast<uint32_t>(byte) - offset[k], column = in_row / At::element_bytes;
        const uint32_t in_column = k * At::element_bytes + in_row % At::element_bytes;
        if (column < At::v && (whole || in_column < 4)) bytes[column * At::pitch * 4 + in_column] = value;
      }
    }
  }
};

// Stores bytes [0, count) of a word, 0 <= count < 4, in pieces of Unit bytes.
template <int Unit>
GPU_INLINE void store_pieces(unsigned char* to, uint32_t word, int32_t count) {
  GPU_UNROLL for (int32_t k = 0; k <= 4 - 2 * Unit; k += Unit) {
    if (k < count) store_global(to + k, static_cast<word_t<Unit>>(word >> k * 8));
  }
}

// 3. A thread stores a word of each of `steps` columns. If the columns are one axis, these words are equally misaligned.
template <class At, bool Fused, int Threads>
struct small_stores {
  static constexpr int lines = Threads / At::line_words, steps = At::cols / lines;  // columns at once
  static_assert(lines * At::line_words == Threads && steps * lines == At::cols && lines % 4 == 0);
  int32_t line, part;
  int32_t cols;        // of dst, from the thread's first one on
  int32_t left;        // bytes of a column, from the thread's word on
  unsigned char* dst;  // aligned
  uint32_t first;      // bytes from there to the word in column 0,
  uint32_t offset;     // and in the thread's first column
  int32_t before;      // bytes from there to an aligned word

  GPU_INLINE explicit small_stores(const small_place<Fused>& here) {
    const auto thread = static_cast<int32_t>(thread_index());
    part = thread % At::line_words, line = thread / At::line_words;
    cols = static_cast<int32_t>(here.args.cols - here.first_col) - line;
    left = static_cast<int32_t>((here.args.rows - here.first_row) * At::element_bytes) - part * 4;
    const uint32_t misplaced = low_word(here.args.dst) & 3;
    dst = static_cast<unsigned char*>(here.args.dst) - misplaced;
    first = misplaced + here.first_row * At::element_bytes + part * 4;
    offset = offset_of(here, 0);
    before = before_of(offset);
  }
  GPU_INLINE uint32_t offset_of(const small_place<Fused>& here, int step) const {
    uint32_t column[1];
    here.set_columns(column, here.first_col + line + step * lines, 1);
    return first + column[0] * At::element_bytes;
  }
  GPU_INLINE static int32_t before_of(uint32_t at) { return static_cast<int32_t>(0 - at & 3); }
  GPU_INLINE uint32_t word_of(int step, int32_t skipped) const {
    const auto* const tile = reinterpret_cast<const uint32_t*>(shared_memory());
    const uint32_t* const at = tile + line * At::pitch + part + step * lines * At::pitch;
    return funnel_shift_right(at[0], at[1], skipped * 8);
  }
  GPU_INLINE void run(const small_place<Fused>& here) const {
    bool is_even = true;
    if constexpr (Fused) is_even = here.args.col_axes.is_split == 0;
    if (is_even && before + 4 <= left) {
      unsigned char* to = dst + (static_cast<int32_t>(offset) + before);
      const int64_t step_bytes = int64_t{here.args.dst_ld} * (lines * At::element_bytes);
      GPU_UNROLL for (int k = 0; k < steps; ++k, to += step_bytes) {
        if (k * lines < cols) store_global(to, word_of(k, before));
      }
    } else {
      GPU_UNROLL_BY(2) for (int k = 0; k < steps; ++k) {
        if (k * lines >= cols) break;
        const uint32_t mine = offset_of(here, k);
        const int32_t skipped = before_of(mine);
        unsigned char* const to = dst + (static_cast<int32_t>(mine) + skipped);
        if (skipped + 4 <= left) {
          store_global(to, word_of(k, skipped));
        } else {
          store_pieces<At::unit>(to, word_of(k, skipped), left - skipped);
        }
      }
    }
    if (here.args.halo == 0 || here.first_row != 0 || part != 0) return;
    GPU_UNROLL_BY(1) for (int k = 0; k < steps; ++k) {  // the elements before the first word of a column
      if (k * lines >= cols) break;
      const uint32_t mine = offset_of(here, k);
      const int32_t skipped = before_of(mine);
      store_pieces<At::unit>(dst + static_cast<int32_t>(mine), word_of(k, 0), skipped < left ? skipped : left);
    }
  }
};

// Offsets are computed before the wait, while earlier launches still run.
template <class At, bool Fused, int Threads>
GPU_INLINE void transpose_small_words(const small_place<Fused>& here) {
  constexpr int V = At::v, Words = At::words, Groups = Threads / At::across, Blocks = At::rows / V / Groups;
  static_assert(Groups * At::across == Threads && Blocks * Groups * V == At::rows);
  const small_source src(here.args);
  const auto thread = static_cast<int>(thread_index());
  const int number = thread % At::across, group = thread / At::across;
  small_block<At, Fused, V> block[Blocks];
  small_block<At, Fused, At::halo_rows> halo;
  const bool has_halo = here.args.halo != 0 && group == 0;
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) block[b].place(here, src, number, (group + b * Groups) * V);
  if (has_halo) halo.place(here, src, number, At::rows);
  const small_stores<At, Fused, Threads> stores(here);
  wait_for_earlier_launches<At::rows * At::cols * At::element_bytes>();

  GPU_UNROLL for (int b = 0; b < Blocks; ++b) block[b].load(src);
  if (has_halo) halo.load(src);
  auto* const tile = reinterpret_cast<uint32_t*>(shared_memory()) + number * V * At::pitch;
  uint32_t row[V][Words];
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) {  // 2.
    uint32_t* const to = tile + (group + b * Groups) * Words;
    block[b].realign(row);
    GPU_UNROLL for (int column = 0; column < V; ++column) {
      GPU_UNROLL for (int i = 0; i < Words; ++i) {
        to[column * At::pitch + i] = column_word<At::element_bytes>(row, column, i);
      }
    }
    block[b].store_cut(src, to, true);
  }
  if (has_halo) {
    uint32_t* const to = tile + At::line_words;
    halo.realign(row);
    GPU_UNROLL for (int column = 0; column < V; ++column) {
      to[column * At::pitch] = column_word<At::element_bytes>(row, column, 0);
    }
    halo.store_cut(src, to, false);
  }
  block_barrier();  // orders the words stored in 2 before their reads in 3
  stores.run(here);
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

template <int ElementBytes, int Rows, int Cols, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_words_kernel(GPU_PARAMETER small_args_t<Fused> args) {
  const small_place<Fused> here(args, Rows, Cols);
  transpose_small_words<small_tile<ElementBytes, Rows, Cols>, Fused, threads_of(Limits)>(here);
}

}  // namespace cornerturn::gpu
