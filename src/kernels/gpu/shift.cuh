// Shifted tile: rows and columns at any address that is a multiple of one element, on either side.
//   A granule is 16 aligned bytes of src. A group is as many rows as make 16 bytes of dst: rows that have the same
//   place in their groups lie equally far from the last granule border, as their distance is a multiple of 16 bytes.
//   1. the granules that hold the tile travel to shared memory as they are, 16 bytes a lane        (rows, granules)
//   2. there a granule stays free after each group, so that a group takes an odd number of them: the same element of
//      eight groups lies in eight different sets of four banks
//   3. after a barrier each lane gathers one element from each of 16 bytes' worth of rows, which are rows of one group
//      or of two neighbours. All lanes read rows of the same place in their group at the same time: eight lanes in
//      eight groups, the next eight four bytes further on, meet 32 banks whatever the strides  (4 columns, 8 chunks)
//   4. what was gathered is rotated by the column's distance from a granule border of dst, and written as 16 bytes
// Dst is written in whole sectors of 32 bytes: a line begins at the last sector border at or before its first row,
// which takes up to 31 bytes of rows that belong to the tile above: the halo, read again. So no tile leaves a part of a
// sector to another, except at the ends of a dst run.
#pragma once

#include "kernels/gpu/chain.cuh"

namespace cornerturn::gpu {

// A tile of elements of SrcBytes that are DstBytes long in dst: the same, where nothing is done to them.
template <int SrcBytes, int DstBytes, int Rows, int RowGranules, int Splits>
struct shifted_tile {
  static constexpr int src_bytes = SrcBytes;
  static constexpr int dst_bytes = DstBytes;
  static constexpr int group = 16 / (SrcBytes < DstBytes ? SrcBytes : DstBytes);  // rows: 16 bytes of the narrower side
  static constexpr int chunk_bytes = group * DstBytes;                            // of a column of dst: 16 or 32
  static constexpr int above = shift_halo_bytes / DstBytes;                       // rows of the halo
  static constexpr int rows = Rows;
  static constexpr int row_granules = RowGranules;  // the last one is needed where a row is shifted
  static constexpr int cols = (row_granules - 1) * 16 / SrcBytes;
  static constexpr int groups = (above + rows) / group;
  static constexpr int group_bytes = (group * row_granules + 1) * 16;
  static constexpr int shared_bytes = groups * group_bytes;

  // A strip is the columns of one granule. A warp writes `across` of its columns, `along` chunks of each.
  static constexpr int strips = row_granules - 1;
  static constexpr int strip_cols = 16 / SrcBytes;
  static constexpr int across = strip_cols < 4 ? strip_cols : 4;
  static constexpr int along = 32 / across;
  static constexpr int quads = strip_cols / across;
  static constexpr int chunks = rows / group;
  static constexpr int bands = chunks / along;
  static constexpr int splits = Splits;  // warps that share the strips: so many that the columns of a lane lie equally
                                         // far from a sector border
  static constexpr int threads = 32 * quads * bands * splits;
  static_assert(splits * strip_cols * DstBytes % 32 == 0 && strips % splits == 0 && rows % (group * along) == 0);
  static_assert(above % group == 0 && group % 2 == 0);
};

template <int WordBytes>
struct shift_tile
    : shifted_tile<WordBytes, WordBytes, WordBytes == 8 ? 64 : 128, WordBytes == 8 ? 33 : 17, WordBytes == 1 ? 2 : 4> {
  static constexpr int blocks = WordBytes == 2 || WordBytes == 4 ? 3 : 4;  // a multiprocessor: more leave L1 too small
};

GPU_INLINE uint32_t low_word(const void* address) {
  return static_cast<uint32_t>(reinterpret_cast<std::uint64_t>(address));
}

// Where the rows of a tile are read.
struct shift_source {
  const unsigned char* first;  // of the tile
  int64_t row_bytes;           // from one row to the next
  std::uint64_t begin, end;    // addresses: nothing outside [begin, end) is read
  int64_t first_row;           // of the tile, in the matrix
  int64_t left[2];             // columns and rows, from the tile's first ones to the last ones of all
};

// A granule of which only the bytes in [begin, end) may be touched.
GPU_INLINE void fetch_part(const shift_source& src, unsigned char* to, const unsigned char* from) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  if (address >= src.begin && address + 16 <= src.end) return start_line_copy(to, from);
  GPU_UNROLL_BY(1) for (int k = 0; k < 16; ++k) {  // few of them: not once more for each place that fetches
    if (address + k >= src.begin && address + k < src.end) to[k] = from[k];
  }
}

// Whether the tile and its halo are all there, and the granules reach no byte that does not exist: up to 15 of them lie
// beyond the tile's columns on either side.
template <class At>
GPU_INLINE bool is_whole(const shift_source& src) {
  const std::uint64_t one = reinterpret_cast<std::uint64_t>(src.first) - At::above * src.row_bytes,
                      other = one + (At::above + At::rows - 1) * src.row_bytes;
  return src.left[0] >= At::cols && src.left[1] > At::rows && src.first_row >= At::above &&
         (one < other ? one : other) >= src.begin + 15 &&
         (one < other ? other : one) + At::cols * At::src_bytes + 15 <= src.end;
}

// 1. and 2. The rows in shared memory begin with the halo.
template <class At, bool Chained, bool Whole>
GPU_INLINE void fetch_shifted(const shift_source& src, const int64_t* row_src) {
  using at = At;
  constexpr int Rows = at::above + at::rows;
  const int64_t row_bytes = src.left[0] * at::src_bytes;
  GPU_UNROLL for (int first = 0; first < Rows * at::row_granules; first += at::threads) {
    const uint32_t index = first + thread_index();
    const auto row = static_cast<int>(index / at::row_granules);
    const auto granule = static_cast<int>(index % at::row_granules);
    if (Rows * at::row_granules % at::threads != 0 && row >= Rows) return;
    const unsigned char* const row_from = src.first + (Chained ? row_src[row] : (row - at::above) * src.row_bytes);
    const auto shift = static_cast<int>(low_word(row_from) & 15);
    if (granule == at::row_granules - 1 && shift == 0) continue;
    unsigned char* const to = shared_memory() + (row * at::row_granules + row / at::group + granule) * 16;
    const unsigned char* const from = row_from - shift + granule * 16;
    if (Whole) {
      start_line_copy(to, from);
    } else if (row - at::above >= -src.first_row && row - at::above < src.left[1] && granule * 16 - shift < row_bytes) {
      fetch_part(src, to, from);
    }
  }
}

// Element k, at offset[k] of shared memory, makes bytes k * WordBytes and up of four words.
template <int WordBytes>
GPU_INLINE void gather_words(uint32_t* words, const int* offset, int further) {
  word_t<WordBytes> value[16 / WordBytes];
  GPU_UNROLL for (int k = 0; k < 16 / WordBytes; ++k) {
    value[k] = *reinterpret_cast<const word_t<WordBytes>*>(shared_memory() + offset[k] + further);
  }
  if constexpr (WordBytes == 8) {
    words[0] = value[0].x, words[1] = value[0].y, words[2] = value[1].x, words[3] = value[1].y;
  } else {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if constexpr (WordBytes == 4) {
        words[k] = value[k];
      } else if constexpr (WordBytes == 2) {
        words[k] = byte_permute(value[2 * k], value[2 * k + 1], 0x5410);
      } else {
        words[k] = byte_permute(byte_permute(value[4 * k], value[4 * k + 1], 0x0040),
                                byte_permute(value[4 * k + 2], value[4 * k + 3], 0x0040), 0x5410);
      }
    }
  }
}

// The lowest `bytes` of 16 bytes go to their end.
template <int WordBytes>
GPU_INLINE void rotate_down(uint32_t (&words)[4], uint32_t bytes) {
  uint32_t by_bytes[4], by_word[4];
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    by_bytes[k] = WordBytes < 4 ? funnel_shift_right(words[k], words[(k + 1) % 4], bytes % 4 * 8) : words[k];
  }
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    by_word[k] = WordBytes < 8 && (bytes & 4) != 0 ? by_bytes[(k + 1) % 4] : by_bytes[k];
  }
  GPU_UNROLL for (int k = 0; k < 4; ++k) words[k] = (bytes & 8) != 0 ? by_word[(k + 2) % 4] : by_word[k];
}

// Stores those elements k of a chunk for which from <= k < to.
template <int WordBytes>
GPU_INLINE void store_rows(unsigned char* address, const uint32_t (&words)[4], int64_t from, int64_t to) {
  GPU_UNROLL for (int k = 0; k < 16 / WordBytes; ++k) {
    if (k < from || k >= to) continue;
    if constexpr (WordBytes == 8) {
      store_global(address + k * 8, word_t<8>{words[2 * k], words[2 * k + 1]});
    } else {
      store_global(address + k * WordBytes,
                   static_cast<word_t<WordBytes>>(words[k * WordBytes / 4] >> k * WordBytes % 4 * 8));
    }
  }
}

// What a lane gathers for chunk `number` of a line that begins at `to`.
template <class At>
struct shift_aim {
  int row;                // of the tile: the chunk's first
  uint32_t rotation;      // bytes of dst
  int offset[At::group];  // in shared memory, of the element of strip 0 in the row of each place in its group
};

template <class At, bool Chained, bool Whole>
GPU_INLINE shift_aim<At> aim_at(const shift_source& src, const int64_t* row_src, const unsigned char* to, int number,
                                int col) {
  using at = At;
  shift_aim<at> made;
  made.row = number * at::group - static_cast<int>(low_word(to) & 31) / at::dst_bytes;
  made.rotation = (0 - low_word(to)) & (at::chunk_bytes - 1);
  const int first_group = (made.row + at::above) / at::group;
  GPU_UNROLL for (int k = 0; k < at::group; ++k) {
    int group = first_group + (k * at::dst_bytes < static_cast<int>(made.rotation) ? 1 : 0);
    if (!Whole && group >= at::groups) group = at::groups - 1;  // rows that do not exist
    const auto row_src_bytes = static_cast<uint32_t>(Chained ? row_src[group * at::group + k] : k * src.row_bytes);
    made.offset[k] = group * at::group_bytes + k * at::row_granules * 16 +
                     static_cast<int>((low_word(src.first) + row_src_bytes) & 15) + col * at::src_bytes;
  }
  return made;
}

// 3. and 4.
template <int WordBytes, bool Whole>
GPU_INLINE void write_chunk(const shift_source& src, const shift_aim<shift_tile<WordBytes>>& aim, unsigned char* to,
                            int strip) {
  uint32_t words[4];
  gather_words<WordBytes>(words, aim.offset, strip * 16);
  rotate_down<WordBytes>(words, aim.rotation);
  if (Whole || (aim.row >= -src.first_row && aim.row + 16 / WordBytes <= src.left[1])) {
    store_global(to, word_t<16>{words[0], words[1], words[2], words[3]});
  } else {
    store_rows<WordBytes>(to, words, -src.first_row - aim.row, src.left[1] - aim.row);
  }
}

// Where a thread of a shifted tile begins to write.
template <class At>
struct shift_task {
  int first_strip;
  int first_col;  // of a strip
  int number;     // of a column's chunks

  GPU_INLINE explicit shift_task(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    first_strip = warp / (At::quads * At::bands);
    first_col = warp % At::quads + lane / 8 % At::across * At::quads;
    number = warp / At::quads % At::bands * At::along + lane % 8 + lane / (8 * At::across) * 8;
  }
};

template <int WordBytes, bool Chained, bool Whole, class Between = nothing_between>
GPU_INLINE void move_shifted(const job_t<Chained>& job, const place& here, const shift_source& src,
                             const Between& between = {}) {
  using at = shift_tile<WordBytes>;
  int64_t* const row_src = reinterpret_cast<int64_t*>(shared_memory() + at::shared_bytes);  // (above and rows)
  int64_t* const col_dst = row_src + at::above + at::rows;                                  // (cols)
  if constexpr (Chained) {
    const place raised = {here.src, here.dst, {here.left[0], here.left[1] + at::above}};
    fill_tables(job, raised, row_src, at::above + at::rows, at::cols, at::threads);
    block_barrier();  // orders the tables before their reads
  }
  fetch_shifted<at, Chained, Whole>(src, row_src);
  wait_for_copies();
  block_barrier();  // orders the granules put into shared memory in 1 before their reads in 3
  between();

  const shift_task<at> mine(static_cast<int>(thread_index()));
  if constexpr (Whole && !Chained) {
    const int col = mine.first_col + mine.first_strip * at::strip_cols;
    unsigned char* to = here.dst + col * job.dst_col_bytes;
    const shift_aim<at> aim = aim_at<at, false, true>(src, row_src, to, mine.number, col);
    const int64_t step_bytes = at::splits * at::strip_cols * job.dst_col_bytes;
    to += aim.row * WordBytes;
    GPU_UNROLL for (int strip = 0; strip < at::strips; strip += at::splits, to += step_bytes) {
      write_chunk<WordBytes, true>(src, aim, to, strip);
    }
  } else {
    // The last tile of a run has no tile below that would write the rows of its last, unfinished sectors.
    const int chunks = at::chunks + (here.left[1] <= at::rows ? 32 / at::chunk_bytes : 0);
    for (int strip = mine.first_strip; strip < at::strips; strip += at::splits) {
      const int col = mine.first_col + strip * at::strip_cols;
      if (col >= here.left[0]) return;
      unsigned char* const to = here.dst + (Chained ? col_dst[col] : col * job.dst_col_bytes);
      for (int chunk = mine.number; chunk < chunks; chunk += at::chunks) {
        const shift_aim<at> aim = aim_at<at, Chained, Whole>(src, row_src, to, chunk, mine.first_col);
        if (aim.row >= here.left[1]) continue;
        write_chunk<WordBytes, Whole>(src, aim, to + aim.row * WordBytes, strip);
      }
    }
  }
}

GPU_INLINE shift_source source_of(const tile_job& job, const place& here) {
  return {here.src,
          job.src_row_bytes,
          job.src_begin,
          job.src_end,
          job.blocks.extent[1] - here.left[1],
          {here.left[0], here.left[1]}};
}

// Whether the tile is a whole one, and its granules, which reach up to 15 bytes beyond its columns, exist.
template <int WordBytes, bool Chained>
GPU_INLINE bool is_whole(const tile_job& job, const place& here, const shift_source& src) {
  using at = shift_tile<WordBytes>;
  if constexpr (Chained) {
    return here.left[0] >= at::cols && here.left[1] > at::rows && src.first_row >= at::above &&
           (job.blocks.extent[0] - here.left[0]) * WordBytes >= 15 && (here.left[0] - at::cols) * WordBytes >= 15;
  } else {
    return is_whole<at>(src);
  }
}

template <int WordBytes, bool Chained>
GPU_KERNEL((shift_tile<WordBytes>::threads), (shift_tile<WordBytes>::blocks - (WordBytes == 2 ? blocks_less : 0)))
shift_kernel(GPU_PARAMETER job_t<Chained> job) {
  const place here = find_place(job.blocks, job.src, job.dst);
  if (here.left[1] <= 0) return;
  const shift_source src = source_of(job, here);
  if (is_whole<WordBytes, Chained>(job, here, src)) {
    move_shifted<WordBytes, Chained, true>(job, here, src);
  } else {
    move_shifted<WordBytes, Chained, false>(job, here, src);
  }
}

}  // namespace cornerturn::gpu
