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

template <int WordBytes>
struct shift_tile {
  static constexpr int group = 16 / WordBytes;  // rows
  static constexpr int above = 32 / WordBytes;  // rows of the halo
  static constexpr int rows = WordBytes == 8 ? 64 : 128;
  static constexpr int row_granules = WordBytes == 8 ? 33 : 17;  // the last one is needed where a row is shifted
  static constexpr int cols = (row_granules - 1) * 16 / WordBytes;
  static constexpr int groups = (above + rows) / group;
  static constexpr int group_bytes = (group * row_granules + 1) * 16;
  static constexpr int shared_bytes = groups * group_bytes;

  // A strip is the columns of one granule. A warp writes `across` of its columns, `along` chunks of 16 bytes of each.
  static constexpr int strips = row_granules - 1;
  static constexpr int across = group < 4 ? group : 4;
  static constexpr int along = 32 / across;
  static constexpr int quads = group / across;
  static constexpr int bands = rows / group / along;
  static constexpr int splits = WordBytes == 1 ? 2 : 4;  // warps that share the strips: even, so that the columns of a
                                                         // lane lie equally far from a sector border
  static constexpr int threads = 32 * quads * bands * splits;
  static constexpr int blocks = WordBytes == 2 || WordBytes == 4 ? 3 : 4;  // a multiprocessor: more leave L1 too small
  static_assert(splits % 2 == 0 && strips % splits == 0 && rows % (group * along) == 0);
};

GPU_INLINE uint32_t low_word(const void* address) {
  return static_cast<uint32_t>(reinterpret_cast<std::uint64_t>(address));
}

// A granule of which only the bytes in [begin, end) may be touched.
GPU_INLINE void fetch_part(const tile_job& job, unsigned char* to, const unsigned char* from) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  if (address >= job.src_begin && address + 16 <= job.src_end) return start_line_copy(to, from);
  for (int k = 0; k < 16; ++k) {
    if (address + k >= job.src_begin && address + k < job.src_end) to[k] = from[k];
  }
}

// 1. and 2. The rows in shared memory begin with the halo.
template <int WordBytes, bool Chained, bool Whole>
GPU_INLINE void fetch_shifted(const tile_job& job, const place& here, const int64_t* row_src) {
  using at = shift_tile<WordBytes>;
  constexpr int Rows = at::above + at::rows;
  const int64_t first_row = job.blocks.extent[1] - here.left[1];
  const int64_t row_bytes = here.left[0] * WordBytes;
  GPU_UNROLL for (int first = 0; first < Rows * at::row_granules; first += at::threads) {
    const uint32_t index = first + thread_index();
    const auto row = static_cast<int>(index / at::row_granules);
    const auto granule = static_cast<int>(index % at::row_granules);
    if (Rows * at::row_granules % at::threads != 0 && row >= Rows) return;
    const unsigned char* const row_from = here.src + (Chained ? row_src[row] : (row - at::above) * job.src_row_bytes);
    const auto shift = static_cast<int>(low_word(row_from) & 15);
    if (granule == at::row_granules - 1 && shift == 0) continue;
    unsigned char* const to = shared_memory() + (row * at::row_granules + row / at::group + granule) * 16;
    const unsigned char* const from = row_from - shift + granule * 16;
    if (Whole) {
      start_line_copy(to, from);
    } else if (row - at::above >= -first_row && row - at::above < here.left[1] && granule * 16 - shift < row_bytes) {
      fetch_part(job, to, from);
    }
  }
}

// Element k, at offset[k] of shared memory, makes bytes k * WordBytes and up of four words.
template <int WordBytes>
GPU_INLINE void gather_words(uint32_t (&words)[4], const int (&offset)[16 / WordBytes], int further) {
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
template <int WordBytes>
struct shift_aim {
  int row;                     // of the tile: the chunk's first
  uint32_t rotation;           // bytes
  int offset[16 / WordBytes];  // in shared memory, of the element of strip 0 in the row of each place in its group
};

template <int WordBytes, bool Chained, bool Whole>
GPU_INLINE shift_aim<WordBytes> aim_at(const tile_job& job, const place& here, const int64_t* row_src,
                                       const unsigned char* to, int number, int col) {
  using at = shift_tile<WordBytes>;
  shift_aim<WordBytes> made;
  made.row = number * at::group - static_cast<int>(low_word(to) & 31) / WordBytes;
  made.rotation = (0 - low_word(to)) & 15;
  const int first_group = (made.row + at::above) / at::group;
  GPU_UNROLL for (int k = 0; k < at::group; ++k) {
    int group = first_group + (k * WordBytes < static_cast<int>(made.rotation) ? 1 : 0);
    if (!Whole && group >= at::groups) group = at::groups - 1;  // rows that do not exist
    const auto row_src_bytes = static_cast<uint32_t>(Chained ? row_src[group * at::group + k] : k * job.src_row_bytes);
    made.offset[k] = group * at::group_bytes + k * at::row_granules * 16 +
                     static_cast<int>((low_word(here.src) + row_src_bytes) & 15) + col * WordBytes;
  }
  return made;
}

// 3. and 4.
template <int WordBytes, bool Whole>
GPU_INLINE void write_chunk(const tile_job& job, const place& here, const shift_aim<WordBytes>& aim, unsigned char* to,
                            int strip) {
  uint32_t words[4];
  gather_words<WordBytes>(words, aim.offset, strip * 16);
  rotate_down<WordBytes>(words, aim.rotation);
  const int64_t first_row = job.blocks.extent[1] - here.left[1];
  if (Whole || (aim.row >= -first_row && aim.row + 16 / WordBytes <= here.left[1])) {
    store_global(to, word_t<16>{words[0], words[1], words[2], words[3]});
  } else {
    store_rows<WordBytes>(to, words, -first_row - aim.row, here.left[1] - aim.row);
  }
}

template <int WordBytes, bool Chained, bool Whole, class Between = nothing_between>
GPU_INLINE void move_shifted(const job_t<Chained>& job, const place& here, const Between& between = {}) {
  using at = shift_tile<WordBytes>;
  int64_t* const row_src = reinterpret_cast<int64_t*>(shared_memory() + at::shared_bytes);  // (above and rows)
  int64_t* const col_dst = row_src + at::above + at::rows;                                  // (cols)
  const auto thread = static_cast<int>(thread_index());
  if constexpr (Chained) {
    const place raised = {here.src, here.dst, {here.left[0], here.left[1] + at::above}};
    fill_tables(job, raised, row_src, at::above + at::rows, at::cols, at::threads);
    block_barrier();  // orders the tables before their reads
  }
  fetch_shifted<WordBytes, Chained, Whole>(job, here, row_src);
  wait_for_copies();
  block_barrier();  // orders the granules put into shared memory in 1 before their reads in 3
  between();

  const int lane = thread % 32, warp = thread / 32;
  const int first_strip = warp / (at::quads * at::bands);
  const int first_col = warp % at::quads + lane / 8 % at::across * at::quads;  // of a strip
  const int number = warp / at::quads % at::bands * at::along + lane % 8 + lane / (8 * at::across) * 8;
  constexpr int Chunks = at::rows / at::group;
  if constexpr (Whole && !Chained) {
    unsigned char* to = here.dst + (first_col + first_strip * at::group) * job.dst_col_bytes;
    const shift_aim<WordBytes> aim =
        aim_at<WordBytes, false, true>(job, here, row_src, to, number, first_col + first_strip * at::group);
    const int64_t step_bytes = at::splits * at::group * job.dst_col_bytes;
    to += aim.row * WordBytes;
    GPU_UNROLL for (int strip = 0; strip < at::strips; strip += at::splits, to += step_bytes) {
      write_chunk<WordBytes, true>(job, here, aim, to, strip);
    }
  } else {
    // The last tile of a run has no tile below that would write the rows of its last, unfinished sectors.
    const int chunks = Chunks + (here.left[1] <= at::rows ? 2 : 0);
    for (int strip = first_strip; strip < at::strips; strip += at::splits) {
      const int col = first_col + strip * at::group;
      if (col >= here.left[0]) return;
      unsigned char* const to = here.dst + (Chained ? col_dst[col] : col * job.dst_col_bytes);
      for (int chunk = number; chunk < chunks; chunk += Chunks) {
        const shift_aim<WordBytes> aim = aim_at<WordBytes, Chained, Whole>(job, here, row_src, to, chunk, first_col);
        if (aim.row >= here.left[1]) continue;
        write_chunk<WordBytes, Whole>(job, here, aim, to + aim.row * WordBytes, strip);
      }
    }
  }
}

// Whether the tile is a whole one, and its granules, which reach up to 15 bytes beyond its columns, exist.
template <int WordBytes, bool Chained>
GPU_INLINE bool is_whole(const job_t<Chained>& job, const place& here) {
  using at = shift_tile<WordBytes>;
  const int64_t first_row = job.blocks.extent[1] - here.left[1];
  const int64_t first_col = job.blocks.extent[0] - here.left[0];
  bool whole = here.left[0] >= at::cols && here.left[1] > at::rows && first_row >= at::above;
  if constexpr (Chained) {
    whole = whole && first_col * WordBytes >= 15 && (here.left[0] - at::cols) * WordBytes >= 15;
  } else {
    const std::uint64_t one = reinterpret_cast<std::uint64_t>(here.src) - at::above * job.src_row_bytes,
                        other = one + (at::above + at::rows - 1) * job.src_row_bytes;
    whole = whole && (one < other ? one : other) >= job.src_begin + 15 &&
            (one < other ? other : one) + at::cols * WordBytes + 15 <= job.src_end;
  }
  return whole;
}

template <int WordBytes, bool Chained>
GPU_KERNEL(shift_tile<WordBytes>::threads, shift_tile<WordBytes>::blocks)
shift_kernel(GPU_PARAMETER job_t<Chained> job) {
  const place here = find_place(job.blocks, job.src, job.dst);
  if (here.left[1] <= 0) return;
  if (is_whole<WordBytes, Chained>(job, here)) {
    move_shifted<WordBytes, Chained, true>(job, here);
  } else {
    move_shifted<WordBytes, Chained, false>(job, here);
  }
}

}  // namespace cornerturn::gpu
