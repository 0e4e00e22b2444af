// Unaligned tile: rows and columns at any address that is a multiple of one element, on either side. A granule is 16
// aligned bytes of src. A group is the rows that make 16 bytes of dst, so row k of each group is equally misaligned.
//   1. the granules that hold the tile are copied to shared memory unchanged, 16 bytes a lane      (rows, granules)
//   2. a granule of padding follows each group there. A group takes an odd number of granules, so that an element of
//      eight groups is in eight different sets of four banks
//   3. after a barrier each lane gathers a chunk of a column, an element from each row of one group or of two
//      neighbours. All lanes load row k of their groups together: eight lanes in eight groups, the next eight lanes
//      four bytes further on, use 32 banks for any stride                                      (4 columns, 8 chunks)
//   4. the chunk is rotated by the column's misalignment in dst, and stored as 16 aligned bytes
//
// Dst is stored in whole sectors of 32 bytes, or over a link to another GPU in whole lines of 128 bytes: a column of a tile begins
// at the last border at or before its first row. The bytes before that row are rows of the tile above, the halo, which are loaded
// again. Only the ends of a run of dst are parts of a sector or of a line.
#pragma once

#include "kernels/gpu/policy/alternating.cuh"
#include "kernels/gpu/policy/fused_axes.cuh"
#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/unaligned_tile/args.hpp"

namespace cornerturn::gpu {

// A tile of elements that have SrcBytes in src and DstBytes in dst; both are equal unless the elements are converted.
template <int SrcBytes, int DstBytes, int Rows, int RowGranules, int Splits, int HaloBytes = unaligned_halo_bytes>
struct unaligned_tile_map {
  static constexpr int src_bytes = SrcBytes;
  static constexpr int dst_bytes = DstBytes;
  static constexpr int group = 16 / (SrcBytes < DstBytes ? SrcBytes : DstBytes);  // rows: 16 bytes of the narrower side
  static constexpr int chunk_bytes = group * DstBytes;                            // of a column of dst: 16 or 32
  static constexpr int halo_bytes = HaloBytes;                                    // of dst: a sector or a line
  static constexpr int above = halo_bytes / DstBytes;                             // rows of the halo
  static constexpr int rows = Rows;
  static constexpr int row_granules = RowGranules;  // the last one is needed if a row is misaligned
  static constexpr int cols = (row_granules - 1) * 16 / SrcBytes;
  static constexpr int groups = (above + rows) / group;
  static constexpr int group_bytes = (group * row_granules + 1) * 16;
  static constexpr int shared_bytes = groups * group_bytes;

  // A slice is the columns of one granule. A warp stores `across` of its columns, `along` chunks of each.
  static constexpr int slices = row_granules - 1;
  static constexpr int slice_cols = 16 / SrcBytes;
  static constexpr int across = slice_cols < 4 ? slice_cols : 4;
  static constexpr int along = warp_lanes / across;
  static constexpr int quads = slice_cols / across;
  static constexpr int chunks = rows / group;
  static constexpr int bands = chunks / along;
  static constexpr int splits = Splits;  // warps that share the slices; the columns of a lane are equally misaligned
  static constexpr int threads = warp_lanes * quads * bands * splits;
  static_assert(splits * slice_cols * DstBytes % 32 == 0 && slices % splits == 0 && rows % (group * along) == 0);
  static_assert(above % group == 0 && group % 2 == 0);
};

template <int WordBytes, int HaloBytes = unaligned_halo_bytes>
struct unaligned_tile : unaligned_tile_map<WordBytes, WordBytes, WordBytes == 8 ? 64 : 128, WordBytes == 8 ? 33 : 17,
                                           WordBytes == 1 ? 2 : 4, HaloBytes> {};

// True when the tile and its halo are complete and every granule is within [begin, end) of src. Granules extend up to
// 15 bytes beyond the tile's columns on either side.
template <class At>
GPU_INLINE bool is_whole(const unaligned_source& src) {
  const std::uint64_t one = reinterpret_cast<std::uint64_t>(src.first) - At::above * src.row_bytes,
                      other = one + (At::above + At::rows - 1) * src.row_bytes;
  return src.left[0] >= At::cols && src.left[1] > At::rows && src.first_row >= At::above &&
         (one < other ? one : other) >= src.begin + 15 &&
         (one < other ? other : one) + At::cols * At::src_bytes + 15 <= src.end;
}

// Fused rows in shared memory. Eight lanes read the shifts of a row of eight groups from eight banks. Offsets of these rows
// are in one bank.
struct fused_tables {
  int64_t* row_src;          // (above and rows)
  int64_t* col_dst;          // (cols)
  unsigned char* row_shift;  // (above and rows): of the row's address modulo 16
};

// 1. and 2. The first rows in shared memory are the halo.
template <class At, bool Fused, bool Whole>
GPU_INLINE void fetch_unaligned(const unaligned_source& src, const fused_tables& tables) {
  using at = At;
  constexpr int Rows = at::above + at::rows;
  const int64_t row_bytes = src.left[0] * at::src_bytes;
  GPU_UNROLL for (int first = 0; first < Rows * at::row_granules; first += at::threads) {
    const uint32_t index = first + thread_index();
    const auto row = static_cast<int>(index / at::row_granules);
    const auto granule = static_cast<int>(index % at::row_granules);
    if (Rows * at::row_granules % at::threads != 0 && row >= Rows) return;
    const unsigned char* const row_from = src.first + (Fused ? tables.row_src[row] : (row - at::above) * src.row_bytes);
    const auto shift = static_cast<int>(low_word(row_from) & 15);
    if (Fused && granule == 0) tables.row_shift[row] = static_cast<unsigned char>(shift);
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

// One chunk of a column: its rows, its rotation and the shared-memory offsets of its elements.
template <class At>
struct unaligned_chunk {
  int row;                // of the tile: the chunk's first
  uint32_t rotation;      // bytes of dst
  int offset[At::group];  // of slice 0 in shared memory, for each row of a group
};

// 3. Locates chunk `number` of a column of dst whose row 0 is at `to`.
template <class At, bool Fused, bool Whole>
GPU_INLINE unaligned_chunk<At> locate_chunk(const unaligned_source& src, const fused_tables& tables,
                                            const unsigned char* to, int number, int col) {
  using at = At;
  unaligned_chunk<at> made;
  made.row = number * at::group - static_cast<int>(low_word(to) & (at::halo_bytes - 1)) / at::dst_bytes;
  made.rotation = (0 - low_word(to)) & (at::chunk_bytes - 1);
  const int first_group = (made.row + at::above) / at::group;
  GPU_UNROLL for (int k = 0; k < at::group; ++k) {
    int group = first_group + (k * at::dst_bytes < static_cast<int>(made.rotation) ? 1 : 0);
    if (!Whole && group >= at::groups) group = at::groups - 1;  // past the end: loaded, never stored
    const uint32_t shift = Fused ? tables.row_shift[group * at::group + k]
                                 : (low_word(src.first) + static_cast<uint32_t>(k * src.row_bytes)) & 15;
    made.offset[k] =
        group * at::group_bytes + k * at::row_granules * 16 + static_cast<int>(shift) + col * at::src_bytes;
  }
  return made;
}

// 3. and 4. `further`: bytes of shared memory beyond the offsets of the chunk.
template <int WordBytes, bool Whole, class At>
GPU_INLINE void write_chunk(const unaligned_source& src, const unaligned_chunk<At>& located, unsigned char* to,
                            int further) {
  uint32_t words[4];
  gather_words<WordBytes>(words, located.offset, further);
  rotate_down<WordBytes>(words, located.rotation);
  if (Whole || (located.row >= -src.first_row && located.row + 16 / WordBytes <= src.left[1])) {
    store_global(to, word_t<16>{words[0], words[1], words[2], words[3]});
  } else {
    store_rows<WordBytes>(to, words, -src.first_row - located.row, src.left[1] - located.row);
  }
}

// The first column and the first chunk that a thread stores.
template <class At>
struct unaligned_task {
  int first_slice;
  int first_col;  // of a slice
  int number;     // of a column's chunks

  GPU_INLINE explicit unaligned_task(int thread) {
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    first_slice = warp / (At::quads * At::bands);
    first_col = warp % At::quads + lane / 8 % At::across * At::quads;
    number = warp / At::quads % At::bands * At::along + lane % 8 + lane / (8 * At::across) * 8;
  }
};

template <int WordBytes, bool Fused, bool Whole, int HaloBytes = unaligned_halo_bytes, class Between = nothing_between>
GPU_INLINE void transpose_unaligned(const tile_args_t<Fused>& args, const tile_origin& here,
                                    const unaligned_source& src, const Between& between = {}) {
  using at = unaligned_tile<WordBytes, HaloBytes>;
  auto* const row_src = reinterpret_cast<int64_t*>(shared_memory() + at::shared_bytes);
  const fused_tables tables{row_src, row_src + at::above + at::rows,
                            reinterpret_cast<unsigned char*>(row_src + at::above + at::rows + at::cols)};
  if constexpr (Fused) {
    const tile_origin raised = {here.src, here.dst, {here.left[0], here.left[1] + at::above}};
    fill_tables(args, raised, tables.row_src, at::above + at::rows, at::cols, at::threads);
    block_barrier();  // orders the writes of the tables before their reads in 1, 3 and 4
  }
  fetch_unaligned<at, Fused, Whole>(src, tables);
  wait_for_copies();
  block_barrier();  // orders the granules and shifts written to shared memory in 1 before their reads in 3
  between();

  const unaligned_task<at> mine(static_cast<int>(thread_index()));
  if constexpr (Whole && !Fused) {
    const int col = mine.first_col + mine.first_slice * at::slice_cols;
    unsigned char* to = here.dst + col * args.dst_col_bytes;
    const unaligned_chunk<at> located = locate_chunk<at, false, true>(src, tables, to, mine.number, col);
    const int64_t step_bytes = at::splits * at::slice_cols * args.dst_col_bytes;
    [[maybe_unused]] const auto first_sector = static_cast<int>(low_word(to) & (at::halo_bytes - 32));
    GPU_UNROLL for (int slice = 0; slice < at::slices; slice += at::splits, to += step_bytes) {
      int above = 0;  // bytes from the row of `located`: the columns differ in the sector of a line that they begin in
      if constexpr (at::halo_bytes > 32) above = static_cast<int>(low_word(to) & (at::halo_bytes - 32)) - first_sector;
      write_chunk<WordBytes, true>(src, located, to + located.row * WordBytes - above,
                                   slice * 16 - above / at::chunk_bytes * at::group_bytes);
    }
  } else {
    // The last tile of a run also stores its last sectors, which may be partial: no tile below it does.
    const int chunks = at::chunks + (here.left[1] <= at::rows ? at::halo_bytes / at::chunk_bytes : 0);
    unaligned_chunk<at> located{};
    int located_number = -1, located_at = 0;  // chunks of equally misaligned columns have equal offsets
    for (int slice = mine.first_slice; slice < at::slices; slice += at::splits) {
      const int col = mine.first_col + slice * at::slice_cols;
      if (col >= here.left[0]) return;
      unsigned char* const to = here.dst + (Fused ? tables.col_dst[col] : col * args.dst_col_bytes);
      for (int chunk = mine.number; chunk < chunks; chunk += at::chunks) {
        const auto misalignment = static_cast<int>(low_word(to) & (at::halo_bytes - 1));
        if (chunk != located_number || misalignment != located_at) {
          located = locate_chunk<at, Fused, Whole>(src, tables, to, chunk, mine.first_col);
          located_number = chunk, located_at = misalignment;
        }
        if (located.row >= here.left[1]) continue;
        write_chunk<WordBytes, Whole>(src, located, to + located.row * WordBytes, slice * 16);
      }
    }
  }
}

GPU_INLINE unaligned_source source_of(const tile_args& args, const tile_origin& here) {
  return {here.src,
          args.src_row_bytes,
          args.src_begin,
          args.src_end,
          args.blocks.extent[1] - here.left[1],
          {here.left[0], here.left[1]}};
}

// True when the tile and its halo are complete and every granule is within src: see is_whole above. Fused rows have no
// single stride, so the columns beside the tile stand for [begin, end).
template <int WordBytes, bool Fused, int HaloBytes = unaligned_halo_bytes>
GPU_INLINE bool is_whole(const tile_args& args, const tile_origin& here, const unaligned_source& src) {
  using at = unaligned_tile<WordBytes, HaloBytes>;
  if constexpr (Fused) {
    return here.left[0] >= at::cols && here.left[1] > at::rows && src.first_row >= at::above &&
           (args.blocks.extent[0] - here.left[0]) * WordBytes >= 15 && (here.left[0] - at::cols) * WordBytes >= 15;
  } else {
    return is_whole<at>(src);
  }
}

template <int WordBytes, bool Fused, int HaloBytes>
GPU_INLINE void unaligned_tile_block(const tile_args_t<Fused>& args, uint32_t number) {
  wait_for_earlier_launches();  // behind find_origin, tiles of 2-byte elements would spill 16 bytes
  const tile_origin here = find_origin(args.blocks, args.src, args.dst, number);
  if (here.left[1] <= 0) return;
  const unaligned_source src = source_of(args, here);
  if (is_whole<WordBytes, Fused, HaloBytes>(args, here, src)) {
    transpose_unaligned<WordBytes, Fused, true, HaloBytes>(args, here, src);
  } else {
    transpose_unaligned<WordBytes, Fused, false, HaloBytes>(args, here, src);
  }
}

template <int WordBytes, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_tile_kernel(GPU_PARAMETER tile_args_t<Fused> args) {
  static_assert(threads_of(Limits) == unaligned_tile<WordBytes>::threads);
  unaligned_tile_block<WordBytes, Fused, unaligned_halo_bytes>(args, block_index());
}

template <int WordBytes, bool Fused, int HaloBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
alternating_unaligned_tile_kernel(GPU_PARAMETER alternating<tile_args_t<Fused>> all) {
  static_assert(threads_of(Limits) == unaligned_tile<WordBytes>::threads);
  alternate(all, [](const tile_args_t<Fused>& args, uint32_t number) {
    unaligned_tile_block<WordBytes, Fused, HaloBytes>(args, number);
  });
}

}  // namespace cornerturn::gpu
