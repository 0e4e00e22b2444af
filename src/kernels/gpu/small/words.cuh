// Elements of 1, 2, 3 and 6 bytes that stay in L2, at any address. Src is read in words of 4 bytes, dst is written in whole sectors.
//   1. the lanes of a warp load neighbouring words of a row at any address, and realign them by the word of the next lane; of 3 and 6
//      bytes a thread has three words, and loads the next one itself
//   2. a thread has V rows of its words: it transposes them in registers and stores the words of its columns to shared memory
//   3. after a barrier neighbouring threads store neighbouring chunks of 16 bytes of a column, realigned
// A tile has the sectors that begin in its rows. So it also loads the rows that the last sector reaches into, the halo. Loads test
// nothing: the last tiles move back, so that they are whole, and leave out the sectors of the tiles before them.
//   packed        a column begins where the one before it ends. The halo of the last tile is the first rows of the next columns, so that
//                 all sectors are whole but the corners, the first one and the last ones of the last columns: a block of their own
//   any columns   the elements before the first sector of a column and after its last one are its edges. Blocks of their own move them,
//                 element by element, and come first
// The text is short, because each launch begins with a cold instruction cache: docs/log/gpu.md.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/small/place.cuh"

namespace cornerturn::gpu {

// A thread's blocks: their rows and columns are whole words.
template <int ElementBytes, int Rows, int Cols>
struct words_tile {
  static constexpr int element_bytes = ElementBytes, rows = Rows, cols = Cols;
  static constexpr bool triples = ElementBytes % 3 == 0;
  static constexpr int words = triples ? 3 : 1;       // of a block's row, and of its column
  static constexpr int v = 4 * words / ElementBytes;  // rows of a block, and columns
  static constexpr int halo_rows = halo_rows_of(ElementBytes);
  static constexpr int row_blocks = (Rows + halo_rows) / v;
  static constexpr int chunks = Rows * ElementBytes / 16;   // of a column
  static constexpr bool lends = !triples;                   // words to other lanes; the last lane only lends one
  static constexpr int lanes = Cols / v + (lends ? 1 : 0);  // of a row
  static_assert(Cols == (lanes - (lends ? 1 : 0)) * v && (lanes == 32 || !lends) && row_blocks * v == Rows + halo_rows);

  // Columns that are `apart` have sectors at equal rows if a side is one axis. A warp stores chunks of four such columns at once. With
  // this pitch, and a word more for each eight blocks, neither their loads from shared memory nor the stores before share a bank.
  static constexpr int apart = 8 * v, spread = triples ? 1 : 4;
  static constexpr int pitch_for(int pitch) { return pitch * v % 32 == 4 ? pitch : pitch_for(pitch + 1); }
  static constexpr int halo_bytes = halo_rows * ElementBytes, column_bytes = Rows * ElementBytes + halo_bytes;
  static constexpr int pitch = triples ? column_bytes / 4 | 1 : pitch_for(column_bytes / 4);
  static constexpr int place_of(int column) { return column * pitch + (triples ? 0 : column / apart); }
  static constexpr int shared_bytes = (place_of(lanes * v - 1) + pitch) * 4;

  static constexpr int unit = ElementBytes % 2 == 0 ? 2 : 1, each = ElementBytes / unit;  // every address is a multiple
  static constexpr int corner_cols = v;  // of the last word of the last row
  // The edges of a column.
  static constexpr int edge_rows = halo_rows + 1, edge_units = edge_rows * each, edge_pitch = edge_units | 1;
  static constexpr int edge_cols = Cols / edge_blocks;
  static_assert(edge_cols * edge_pitch * unit <= shared_bytes && edge_cols * edge_blocks == Cols);
  static_assert(Rows * ElementBytes % sector_bytes == 0);
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

// The words of a block's columns.
template <int ElementBytes, int V, int Words>
GPU_INLINE void transpose_block(uint32_t (&column)[V][Words], const uint32_t (&row)[V][Words]) {
  if constexpr (V == 4 && Words == 1) {  // two instructions a word instead of three
    GPU_UNROLL for (int half = 0; half < 2; ++half) {
      const uint32_t pairs = half == 0 ? 0x5140 : 0x7362;
      const uint32_t above = byte_permute(row[0][0], row[1][0], pairs),
                     below = byte_permute(row[2][0], row[3][0], pairs);
      column[2 * half][0] = byte_permute(above, below, 0x5410);
      column[2 * half + 1][0] = byte_permute(above, below, 0x7632);
    }
    return;
  }
  GPU_UNROLL for (int k = 0; k < V; ++k) {
    GPU_UNROLL for (int i = 0; i < Words; ++i) column[k][i] = column_word<ElementBytes>(row, k, i);
  }
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

// Moves the elements before the first sector of column 0, and the last sectors of the last columns.
template <class At, bool Fused>
GPU_INLINE void move_corners(const small_place<Fused>& here) {
  constexpr uint32_t Lines = sector_bytes / At::element_bytes;  // elements of a sector
  using word = word_t<At::element_bytes>;
  const uint32_t number = thread_index() / Lines, line = thread_index() % Lines, rows = here.args.rows;
  if (here.first_col != 0 || number > At::corner_cols) return;
  uint32_t column = number == 0 ? 0 : here.args.cols - number, from[1], to[1];
  here.set_columns(to, column, 1);
  auto* const begin = static_cast<word*>(here.args.dst) + static_cast<int32_t>(to[0]);
  const uint32_t in_sector =
      low_word(begin + rows - 1) % sector_bytes / At::element_bytes;  // the column's last element
  uint32_t row = number == 0 ? line : rows - 1 - in_sector + line;
  auto* const stored = begin + row;
  if (number == 0 && line * At::element_bytes >= static_cast<uint32_t>(before_sector(low_word(begin)))) return;
  if (number == 1 && row >= rows) return;  // behind the last column
  if (row >= rows) ++column, row -= rows;
  here.set_rows(from, [&](int) { return row; });
  const auto* const src = static_cast<const word*>(here.args.src) + static_cast<int32_t>(from[0] + column);
  wait_for_earlier_launches<At::rows * At::cols * At::element_bytes>();
  store_global(stored, load_global<word>(src));
}

// Offsets count bytes from a word of src. They are modulo 2^32, because src has fewer than 2^31 bytes.
template <class At, bool Fused, bool Packed, int Threads>
GPU_INLINE void transpose_words(const small_place<Fused>& here) {
  constexpr int V = At::v, Words = At::words, Groups = Threads / At::lanes;
  constexpr int Blocks = (At::row_blocks + Groups - 1) / Groups;
  constexpr int Lines = Threads / At::chunks, Step = Lines / At::spread;  // columns that the block stores at once
  constexpr int Steps = ((At::spread > 1 ? At::apart : At::cols) + Step - 1) / Step;
  static_assert(Groups * At::lanes == Threads && Lines * At::chunks == Threads && Step * At::spread == Lines);
  static_assert(At::triples || Steps * Step == At::apart);
  static_assert(!Packed || (Blocks * Groups == At::row_blocks && (Blocks - 1) * Groups * V == At::rows));
  const auto least = [](uint32_t one, uint32_t other) { return one < other ? one : other; };
  const uint32_t first_col = least(here.first_col, here.args.cols - At::cols);
  const uint32_t number = here.first_row;  // of the block in its column of the grid
  const uint32_t cut = Packed ? 0 : here.args.cut;
  if constexpr (Packed) {
    if (number + 1 == here.args.tiles_down) return move_corners<At>(here);
  } else if (number < 2 * edge_blocks) {
    return transpose_edges<At, Fused, Threads>(here, first_col + number / 2 * At::edge_cols, number % 2 == 0);
  }
  // The tile stores the sectors that begin in row own_row or later. Its halo is whole, or wraps around.
  const bool is_last = Packed && number + 2 == here.args.tiles_down;
  const uint32_t halo_row = here.args.rows - cut - At::halo_rows,
                 in_order = (number - (Packed ? 0 : 2 * edge_blocks)) * At::rows;
  const uint32_t own_row = least(cut + in_order, halo_row);
  const uint32_t first_row = is_last ? here.args.rows - At::rows : least(own_row, halo_row - At::rows);
  const uint32_t thread = thread_index(), lane = thread % At::lanes, group = thread / At::lanes;
  const bool only_lends = At::lends && lane == At::lanes - 1;
  const uint32_t misplaced = Packed ? 0 : low_word(here.args.src) & 3;
  const auto* const src =
      reinterpret_cast<const uint32_t*>(static_cast<const unsigned char*>(here.args.src) - misplaced);
  auto* const dst = static_cast<unsigned char*>(here.args.dst) + int64_t{first_row} * At::element_bytes;
  // The last lane's word holds the row's last byte. No lane needs it if the row begins at a word.
  const uint32_t own = first_col * At::element_bytes + misplaced + lane * Words * 4 - (only_lends ? 1 : 0);
  uint32_t offset[Blocks * V];
  here.set_rows(offset, [&](int k) { return first_row + group * V + (k / V * Groups * V + k % V); });
  if constexpr (Packed) {
    constexpr int Halo = (Blocks - 1) * V;
    if (is_last) {  // the halo is the first rows of the next columns
      uint32_t halo[V];
      here.set_rows(halo, [&](int k) { return group * V + k; });
      GPU_UNROLL for (int k = 0; k < V; ++k) offset[Halo + k] = halo[k] + 1;
    }
    GPU_UNROLL for (int k = 0; k < Blocks * V; ++k) offset[k] = offset[k] * At::element_bytes + own;
    // The last word of the last row may not be within src: its elements are corners. No sector of a tile above needs that row.
    uint32_t end[1];
    here.set_rows(end, [&](int) { return here.args.rows - 1; });
    const uint32_t last = ((end[0] + here.args.cols) * At::element_bytes & ~3u) - 1;
    offset[Halo - 1] = least(offset[Halo - 1], last);
    offset[Halo + V - 1] = least(offset[Halo + V - 1], last);
  } else {
    GPU_UNROLL for (int k = 0; k < Blocks * V; ++k) offset[k] = offset[k] * At::element_bytes + own;
  }
  const auto has_block = [&](int b) {
    return (b + 1) * Groups <= At::row_blocks || group < At::row_blocks - b * Groups;
  };
  wait_for_earlier_launches<At::rows * At::cols * At::element_bytes>();

  uint32_t loaded[Blocks * V][Words + 1];
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) {  // 1.
    if (!has_block(b)) break;
    GPU_UNROLL for (int k = b * V; k < (b + 1) * V; ++k) {
      const uint32_t* const from = src + (static_cast<int32_t>(offset[k]) >> 2);
      GPU_UNROLL for (int i = 0; i < Words; ++i) loaded[k][i] = load_global<uint32_t>(from + i);
      if constexpr (!At::lends) loaded[k][Words] = (offset[k] & 3) != 0 ? load_global<uint32_t>(from + Words) : 0;
    }
  }
  auto* const tile = reinterpret_cast<uint32_t*>(shared_memory());
  uint32_t* const stored = tile + At::place_of(lane * V) + group * Words;
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) {  // 2.
    if (!has_block(b)) break;
    uint32_t row[V][Words], column[V][Words];
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      uint32_t(&words)[Words + 1] = loaded[b * V + k];
      if constexpr (At::lends) words[Words] = value_of_next_lane(words[0]);
      GPU_UNROLL for (int i = 0; i < Words; ++i) {
        row[k][i] = funnel_shift_right(words[i], words[i + 1], offset[b * V + k] * 8);
      }
    }
    transpose_block<At::element_bytes>(column, row);
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      GPU_UNROLL for (int i = 0; i < Words; ++i) stored[b * Groups * Words + k * At::pitch + i] = column[k][i];
    }
  }
  block_barrier();  // orders the words stored in 2 before their reads in 3
  const uint32_t chunk = thread % At::chunks, line = thread / At::chunks;
  const uint32_t first = line / At::spread + line % At::spread * At::apart;  // column
  // A tile that moved back leaves out the columns of the tile before it, and the chunk of a column whose first sector is nearer: the
  // tile above has that one.
  const uint32_t skipped_cols = here.first_col - first_col;
  uint32_t own_cols = At::cols - skipped_cols;
  if constexpr (Packed) {
    const uint32_t left = here.args.cols - here.first_col;
    const uint32_t whole = left > At::corner_cols ? left - At::corner_cols : 0;  // columns whose last sectors are
    if (is_last && chunk >= At::chunks - sector_bytes / 16) own_cols = least(own_cols, whole);
  }
  const auto least_skipped =
      static_cast<int32_t>((own_row - first_row) * At::element_bytes) - static_cast<int32_t>(chunk / 2 * sector_bytes);
  uint32_t columns[Steps];
  here.set_columns(columns, first_col + first, Step);
  const uint32_t* const read = tile + At::place_of(first) + chunk * 4;
  GPU_UNROLL for (int k = 0; k < Steps; ++k) {
    const int64_t to = int64_t{static_cast<int32_t>(columns[k])} * At::element_bytes;
    const int32_t skipped = before_sector(low_word(dst) + static_cast<uint32_t>(to));
    if (first + k * Step - skipped_cols >= own_cols || skipped < least_skipped) continue;
    uint32_t words[5];
    GPU_UNROLL for (int i = 0; i < 5; ++i) words[i] = read[k * Step * At::pitch + skipped / 4 + i];
    GPU_UNROLL for (int i = 0; i < 4; ++i) words[i] = funnel_shift_right(words[i], words[i + 1], skipped * 8);
    store_global(dst + to + skipped + chunk * 16, word_t<16>{words[0], words[1], words[2], words[3]});  // 3.
  }
}

template <int ElementBytes, int Rows, int Cols, bool Fused, bool Packed, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_words_kernel(GPU_PARAMETER small_args_t<Fused> args) {
  const small_place<Fused> here(args, 1, Cols);
  transpose_words<words_tile<ElementBytes, Rows, Cols>, Fused, Packed, threads_of(Limits)>(here);
}

}  // namespace cornerturn::gpu
