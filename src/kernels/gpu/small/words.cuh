// Elements of 1, 2, 3 and 6 bytes that stay in L2, at any address. Src is read in words of 4 bytes, dst is written in whole sectors.
//   1. a thread loads words of V rows at any address, and realigns them: a block
//   2. it transposes the block in registers and stores the words of its columns to shared memory
//   3. after a barrier neighbouring threads store neighbouring chunks of 16 bytes of a column, realigned
// A tile has the sectors that begin in its rows. So it also loads the rows that the last sector reaches into, the halo. Loads test
// nothing: the last tiles move back, so that they are whole, and leave out the sectors of the tiles before them. The elements before the
// first sector of a column and after its last one are its edges. Blocks of their own move them, element by element, and come first.
// The text is short, because each launch begins with a cold instruction cache: docs/log/gpu.md.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/small/place.cuh"

namespace cornerturn::gpu {

// A block's rows and columns are whole words.
template <int ElementBytes, int Rows, int Cols>
struct words_tile {
  static constexpr int element_bytes = ElementBytes, rows = Rows, cols = Cols;
  static constexpr int row_words = ElementBytes % 3 == 0 ? 3 : 2;     // of a block's row,
  static constexpr int column_words = ElementBytes % 3 == 0 ? 3 : 1;  // and of its column
  static constexpr int v = 4 * column_words / ElementBytes;           // rows of a block,
  static constexpr int block_cols = 4 * row_words / ElementBytes;     // and columns
  static constexpr int across = Cols / block_cols;                    // blocks along a row
  static constexpr int halo_rows = halo_rows_of(ElementBytes);
  static constexpr int all_blocks = (Rows + halo_rows) / v * across;
  static constexpr int chunks = Rows * ElementBytes / 16;  // of a column
  // Neighbouring blocks store to other banks: the pitch is odd, and narrow ones have four words more for each block.
  static constexpr int pitch = ((Rows + halo_rows) * ElementBytes / 4) | 1, skew = row_words == 3 ? 0 : 4;
  static constexpr int block_pitch = block_cols * pitch + skew;
  static constexpr int shared_bytes = across * block_pitch * 4;

  // The edges of a column, in units: every address is a multiple.
  static constexpr int unit = ElementBytes % 2 == 0 ? 2 : 1, each = ElementBytes / unit;
  static constexpr int edge_rows = halo_rows + 1, edge_units = edge_rows * each, edge_pitch = edge_units | 1;
  static constexpr int edge_cols = Cols / edge_blocks;
  static_assert(edge_cols * edge_pitch * unit <= shared_bytes && Rows * ElementBytes % sector_bytes == 0);
};

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

// Bytes from `address` to the next sector: 0 if it is one.
GPU_INLINE int32_t before_sector(uint32_t address) { return static_cast<int32_t>((0 - address) % sector_bytes); }

// Moves the elements before the first sector of edge_cols columns, or after the last sector that a tile has.
template <class At, bool Fused, int Threads>
GPU_INLINE void transpose_edges(const small_place<Fused>& here, uint32_t first_col, bool is_first) {
  constexpr int Row = At::edge_cols * At::each, All = Row * At::edge_rows, Steps = (All + Threads - 1) / Threads;
  using word = word_t<At::unit>;
  const auto thread = static_cast<int>(thread_index());
  auto* const tile = reinterpret_cast<word*>(shared_memory());
  const auto* const src = static_cast<const word*>(here.args.src);
  auto* const dst = static_cast<unsigned char*>(here.args.dst);
  const uint32_t first_row = is_first ? 0 : here.args.rows - At::edge_rows;
  // No byte before it is in a sector of a tile; or, for the edges below, no sector that begins there or later is one of a tile.
  const uint32_t bound =
      (is_first ? here.args.cut : here.args.rows - here.args.cut - At::halo_rows) * At::element_bytes;
  wait_for_earlier_launches<At::rows * At::cols * At::element_bytes>();
  word held[Steps];
  GPU_UNROLL for (int k = 0; k < Steps; ++k) {  // 1.
    const int number = thread + k * Threads;
    if (number >= All) break;
    uint32_t row[1];
    here.set_rows(row, [&](int) { return first_row + number / Row; });
    held[k] = load_global<word>(src + int64_t{static_cast<int32_t>(row[0] + first_col)} * At::each + number % Row);
  }
  GPU_UNROLL for (int k = 0; k < Steps; ++k) {  // 2.
    const int number = thread + k * Threads, in_row = number % Row;
    if (number >= All) break;
    tile[in_row / At::each * At::edge_pitch + number / Row * At::each + in_row % At::each] = held[k];
  }
  block_barrier();  // orders the units stored in 2 before their reads in 3
  GPU_UNROLL_BY(2) for (int k = 0; k < Steps; ++k) {
    const int number = thread + k * Threads, index = number / At::edge_units, in_column = number % At::edge_units;
    if (number >= All) break;
    uint32_t column[1];
    here.set_columns(column, first_col + index, 1);
    unsigned char* const to = dst + int64_t{static_cast<int32_t>(column[0])} * At::element_bytes;
    const uint32_t byte = first_row * At::element_bytes + in_column * At::unit;
    const bool is_before = byte < bound + before_sector(low_word(to) + bound);
    if (is_before == is_first && first_col + index >= here.first_col)
      store_global(to + byte, tile[index * At::edge_pitch + in_column]);  // 3.
  }
}

// Offsets count bytes from a word of src. They are modulo 2^32, because src has fewer than 2^31 bytes.
template <class At, bool Fused, int Threads>
GPU_INLINE void transpose_words(const small_place<Fused>& here) {
  constexpr int V = At::v, Words = At::row_words, Blocks = (At::all_blocks + Threads - 1) / Threads;
  constexpr int Groups = Threads / At::across, Lines = Threads / At::chunks, Steps = At::cols / Lines;
  static_assert(Groups * At::across == Threads && Lines * At::chunks == Threads && Steps * Lines == At::cols);
  static_assert(Lines % At::block_cols == 0);
  const auto least = [](uint32_t one, uint32_t other) { return one < other ? one : other; };
  const uint32_t first_col = least(here.first_col, here.args.cols - At::cols);
  const uint32_t number = here.first_row;  // of the block in its column of the grid
  if (number < 2 * edge_blocks) {
    return transpose_edges<At, Fused, Threads>(here, first_col + number / 2 * At::edge_cols, number % 2 == 0);
  }
  const uint32_t own_row =
      here.args.cut + (number - 2 * edge_blocks) * At::rows;  // the first one whose sectors the tile stores
  const uint32_t first_row = least(own_row, here.args.rows - here.args.cut - At::halo_rows - At::rows);
  const auto thread = static_cast<int>(thread_index());
  const int across = thread % At::across, group = thread / At::across;
  const int line = thread / At::chunks, chunk = thread % At::chunks;
  const uint32_t misplaced = low_word(here.args.src) & 3;
  const auto* const src = static_cast<const unsigned char*>(here.args.src) - misplaced;
  auto* const dst = static_cast<unsigned char*>(here.args.dst) + int64_t{first_row} * At::element_bytes;
  uint32_t offset[Blocks * V];
  here.set_rows(offset, [&](int k) { return first_row + (group + k / V * Groups) * V + k % V; });
  GPU_UNROLL for (int k = 0; k < Blocks * V; ++k) {
    offset[k] = (offset[k] + first_col + across * At::block_cols) * At::element_bytes + misplaced;
  }
  const auto has_block = [&](int b) {
    return (b + 1) * Threads <= At::all_blocks || thread < At::all_blocks - b * Threads;
  };
  wait_for_earlier_launches<At::rows * At::cols * At::element_bytes>();

  uint32_t loaded[Blocks * V][Words + 1];
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) {  // 1.
    if (!has_block(b)) break;
    GPU_UNROLL for (int k = b * V; k < (b + 1) * V; ++k) {
      const unsigned char* const from = src + static_cast<int32_t>(offset[k] & ~3u);
      GPU_UNROLL for (int i = 0; i < Words; ++i) loaded[k][i] = load_global<uint32_t>(from + 4 * i);
      loaded[k][Words] = (offset[k] & 3) != 0 ? load_global<uint32_t>(from + 4 * Words) : 0;
    }
  }
  auto* const tile = reinterpret_cast<uint32_t*>(shared_memory());
  uint32_t* const stored = tile + across * At::block_pitch + group * At::column_words;
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) {  // 2.
    if (!has_block(b)) break;
    uint32_t row[V][Words];
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const uint32_t(&words)[Words + 1] = loaded[b * V + k];
      GPU_UNROLL for (int i = 0; i < Words; ++i) {
        row[k][i] = funnel_shift_right(words[i], words[i + 1], offset[b * V + k] * 8 & 31);
      }
    }
    GPU_UNROLL for (int column = 0; column < At::block_cols; ++column) {
      GPU_UNROLL for (int i = 0; i < At::column_words; ++i) {
        stored[b * Groups * At::column_words + column * At::pitch + i] = column_word<At::element_bytes>(row, column, i);
      }
    }
  }
  block_barrier();  // orders the words stored in 2 before their reads in 3
  // A tile that moved back leaves out the chunk of a column whose first sector is nearer: the tile before it has that one.
  const auto least_skipped =
      static_cast<int32_t>((own_row - first_row) * At::element_bytes) - (chunk * 16 & -sector_bytes);
  const uint32_t* read = tile + line * At::pitch + line / At::block_cols * At::skew + chunk * 4;
  GPU_UNROLL_BY(1) for (int k = 0; k < Steps; ++k, read += Lines * At::pitch + Lines / At::block_cols * At::skew) {
    uint32_t column[1];
    here.set_columns(column, first_col + line + k * Lines, 1);
    unsigned char* const to = dst + int64_t{static_cast<int32_t>(column[0])} * At::element_bytes;
    const int32_t skipped = before_sector(low_word(to));
    uint32_t words[5];
    GPU_UNROLL for (int i = 0; i < 5; ++i) words[i] = read[skipped / 4 + i];
    GPU_UNROLL for (int i = 0; i < 4; ++i) words[i] = funnel_shift_right(words[i], words[i + 1], skipped * 8 & 31);
    if (first_col + line + k * Lines < here.first_col || skipped < least_skipped) continue;
    store_global(to + skipped + chunk * 16, word_t<16>{words[0], words[1], words[2], words[3]});  // 3.
  }
}

template <int ElementBytes, int Rows, int Cols, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_words_kernel(GPU_PARAMETER small_args_t<Fused> args) {
  const small_place<Fused> here(args, 1, Cols);
  transpose_words<words_tile<ElementBytes, Rows, Cols>, Fused, threads_of(Limits)>(here);
}

}  // namespace cornerturn::gpu
