// Arithmetic with the tile of unaligned_tile/kernel.cuh, at any address that is a multiple of one element.
//   1. the granules that hold the tile are copied to shared memory unchanged, in groups of rows. A group is the rows
//      that make 16 bytes of the narrower elements
//   2. while the copies are in flight, each thread loads its chunks of a second source, or of dst
//   3. after a barrier each lane gathers the elements of one chunk of a column: a group of rows, or parts of two
//   4. it computes them, and rotates the narrower elements by the chunk's misalignment: src before, or dst afterwards
//   5. it stores the chunk, in whole sectors of dst as unaligned_tile/kernel.cuh does. It also stores the chunk to a
//      second destination in the order of dst
//   6. a second destination in the order of src is computed again, from shared memory, and stored row by row
#pragma once

#include "kernels/gpu/apply/aligned.cuh"
#include "kernels/gpu/unaligned_tile/kernel.cuh"

namespace cornerturn::gpu {

template <int SrcBytes, int DstBytes, int Rows, int RowGranules, int Splits>
struct unaligned_apply_map : unaligned_tile_map<SrcBytes, DstBytes, Rows, RowGranules, Splits> {
  using tile = unaligned_tile_map<SrcBytes, DstBytes, Rows, RowGranules, Splits>;
  static constexpr bool narrows = SrcBytes > DstBytes;
  static constexpr int src_words = tile::group * SrcBytes / 4;  // of a chunk
  static constexpr int dst_words = tile::group * DstBytes / 4;
  static constexpr int steps = tile::slices / Splits;  // chunks of a thread
  // 1-byte types of dst have no beta.
  static constexpr bool may_read_second = DstBytes > 1;
  // 6. Elements of a word of dst, which a lane computes at once.
  static constexpr int unit = DstBytes < 4 ? 4 / DstBytes : 1;
};

// Rows of 256 or 512 bytes of src and 128 bytes or more of a column of dst, as in unaligned_tile/kernel.cuh. All chunks
// of a second source must fit the registers at once: 16 words a thread with 512 threads, 32 words with 256.
template <int SrcBytes, int DstBytes>
struct unaligned_apply_tile : unaligned_apply_map<SrcBytes, DstBytes, (DstBytes > SrcBytes || SrcBytes == 8 ? 64 : 128),
                                                  (SrcBytes == 8 ? 33 : 17),
                                                  (SrcBytes == 4 && DstBytes == 1 ? 8
                                                   : SrcBytes + DstBytes == 4     ? 2
                                                                                  : 4)> {};

// The elements k of a chunk with low <= k < high.
struct chunk_part {
  int64_t low, high;
};
template <class At>
GPU_INLINE bool is_all(const chunk_part& part) {
  return part.low <= 0 && part.high >= At::group;
}
GPU_INLINE bool is_granule(const void* at) { return (low_word(at) & 15) == 0; }

template <class At>
GPU_INLINE void load_granules(uint32_t (&chunk)[At::dst_words], const unsigned char* from) {
  GPU_UNROLL for (int k = 0; k < At::dst_words; k += 4) to_words<16>(chunk + k, load_global<word_t<16>>(from + k * 4));
}
template <class At>
GPU_INLINE void store_granules(unsigned char* to, const uint32_t (&chunk)[At::dst_words]) {
  GPU_UNROLL for (int k = 0; k < At::dst_words; k += 4) store_global(to + k * 4, from_words<16>(chunk + k));
}
// Elements outside `part` are 0.
template <class At>
GPU_INLINE void load_elements(uint32_t (&chunk)[At::dst_words], const unsigned char* from, int64_t stride_bytes,
                              const chunk_part& part) {
  GPU_UNROLL for (int k = 0; k < At::dst_words; ++k) chunk[k] = 0;
  GPU_UNROLL for (int k = 0; k < At::group; ++k) {
    if (k < part.low || k >= part.high) continue;
    const auto one = load_global<word_t<At::dst_bytes>>(from + k * stride_bytes);
    if constexpr (At::dst_bytes < 4) {
      chunk[k * At::dst_bytes / 4] |= uint32_t{one} << k * At::dst_bytes % 4 * 8;
    } else {
      to_words<At::dst_bytes>(chunk + k * At::dst_bytes / 4, one);
    }
  }
}
template <class At>
GPU_INLINE void store_elements(unsigned char* to, const uint32_t (&chunk)[At::dst_words], const chunk_part& part) {
  GPU_UNROLL for (int k = 0; k < At::group; ++k) {
    if (k < part.low || k >= part.high) continue;
    if constexpr (At::dst_bytes < 4) {
      store_global(to + k * At::dst_bytes,
                   static_cast<word_t<At::dst_bytes>>(chunk[k * At::dst_bytes / 4] >> k * At::dst_bytes % 4 * 8));
    } else {
      store_global(to + k * At::dst_bytes, from_words<At::dst_bytes>(chunk + k * At::dst_bytes / 4));
    }
  }
}

// 1. Copies a whole tile. The distances of a thread's rows are multiples of a group, so it computes its addresses once:
//    4
// instructions for each granule, not the 33 of fetch_unaligned() (sm_90, 2026-11-22). Arithmetic has none to spare.
template <class At>
GPU_INLINE void fetch_whole(const unaligned_source& src) {
  constexpr int Granules = At::row_granules - 1;
  constexpr int Rows = At::above + At::rows;
  constexpr int Step = At::threads / Granules;
  static_assert(At::threads % Granules == 0 && Step % At::group == 0);
  const auto thread = static_cast<int>(thread_index());
  const auto start = [&](int row) { return src.first + (row - At::above) * src.row_bytes; };
  const auto smem_offset = [](int row) { return (row * At::row_granules + row / At::group) * 16; };
  const int row = thread / Granules, granule = thread % Granules;
  const unsigned char* from = start(row) - (low_word(start(row)) & 15) + granule * 16;
  unsigned char* const to = shared_memory() + smem_offset(row) + granule * 16;
  GPU_UNROLL for (int first = 0; first < Rows; first += Step, from += Step * src.row_bytes) {
    if (first + Step <= Rows || first + row < Rows) start_line_copy(to + smem_offset(first), from);
  }
  GPU_UNROLL for (int first = 0; first < Rows; first += At::threads) {  // the last granule of each misaligned row
    const int mine = first + thread;
    if (mine >= Rows) return;
    const uint32_t shift = low_word(start(mine)) & 15;
    if (shift == 0) continue;
    start_line_copy(shared_memory() + smem_offset(mine) + Granules * 16, start(mine) - shift + Granules * 16);
  }
}

// 3. and 4.
template <class At, class Math>
GPU_INLINE void make_chunk(const Math& math, const unaligned_chunk<At>& located, int slice,
                           uint32_t (&second)[At::dst_words], uint32_t (&made)[At::dst_words]) {
  constexpr int V = 16 / At::src_bytes;
  uint32_t from[At::src_words];
  GPU_UNROLL for (int k = 0; k < At::group; k += V) {
    gather_words<At::src_bytes>(from + k / V * 4, located.offset + k, slice * 16);
  }
  if constexpr (At::narrows) {
    if constexpr (At::may_read_second) rotate_down<At::dst_bytes>(second, (16 - located.rotation) & 15);
    math.template make<At::group>(from, second, made);
    rotate_down<At::dst_bytes>(made, located.rotation);
  } else {
    rotate_down<At::src_bytes>(from, located.rotation / At::dst_bytes * At::src_bytes);
    math.template make<At::group>(from, second, made);
  }
}

// 2. to 5. of a whole tile. All columns of a lane are equally misaligned, so it locates its chunk once.
template <class At>
GPU_INLINE void write_whole(const apply_args& args, const apply_origin& here, const unaligned_source& src,
                            float scale) {
  const unaligned_task<At> mine(static_cast<int>(thread_index()));
  const int col = mine.first_col + mine.first_slice * At::slice_cols;
  unsigned char* to = here.dst + col * args.slots[0].dst_bytes;
  const unaligned_chunk<At> located = locate_chunk<At, false, true>(src, {}, to, mine.number, col);
  to += located.row * At::dst_bytes;
  unsigned char* const other =
      here.second + col * args.slots[0].second_bytes + located.row * args.slots[1].second_bytes;
  const int64_t step_bytes = At::splits * At::slice_cols * args.slots[0].dst_bytes;
  const int64_t other_bytes = At::splits * At::slice_cols * args.slots[0].second_bytes;
  constexpr chunk_part all = {0, At::group};
  const bool in_granules = is_granule(other) && args.slots[1].second_bytes == At::dst_bytes;
  uint32_t second[At::steps][At::dst_words];  //                                                (chunks of the thread)
  const bool reads_second = At::may_read_second && args.math.reads_second != 0;
  GPU_UNROLL for (int step = 0; step < At::steps; ++step) {
    GPU_UNROLL for (int k = 0; k < At::dst_words; ++k) second[step][k] = 0;
  }
  if (reads_second && in_granules) {
    GPU_UNROLL for (int step = 0; step < At::steps; ++step) load_granules<At>(second[step], other + step * other_bytes);
  } else if (reads_second) {
    GPU_UNROLL for (int step = 0; step < At::steps; ++step) {
      load_elements<At>(second[step], other + step * other_bytes, args.slots[1].second_bytes, all);
    }
  }
  wait_for_copies();
  block_barrier();  // orders the granules copied to shared memory in 1 before their reads in 3 and 6
  const bool second_too = args.second_written != 0 && args.second_by_cols == 0;
  with_math<At::src_bytes, At::dst_bytes>(args.math, scale, [&](const auto& math) {
    GPU_UNROLL for (int step = 0; step < At::steps; ++step) {
      uint32_t made[At::dst_words];
      make_chunk<At>(math, located, step * At::splits, second[step], made);
      store_granules<At>(to + step * step_bytes, made);
      if (second_too && in_granules) store_granules<At>(other + step * other_bytes, made);
      if (second_too && !in_granules) store_elements<At>(other + step * other_bytes, made, all);
    }
  });
}

// 2. to 5. of a partial tile. Each chunk is located on its own.
template <class At>
GPU_INLINE void write_part(const apply_args& args, const apply_origin& here, const unaligned_source& src, float scale) {
  wait_for_copies();
  block_barrier();  // orders the granules copied to shared memory in 1 before their reads in 3 and 6
  const unaligned_task<At> mine(static_cast<int>(thread_index()));
  const bool second_too = args.second_written != 0 && args.second_by_cols == 0;
  // The last tile of a run also stores its last, partial sectors: no tile below it does.
  const int chunks = At::chunks + (here.left[1] <= At::rows ? 32 / At::chunk_bytes : 0);
  with_math<At::src_bytes, At::dst_bytes>(args.math, scale, [&](const auto& math) {
    GPU_UNROLL_BY(1) for (int slice = mine.first_slice; slice < At::slices; slice += At::splits) {
      const int col = mine.first_col + slice * At::slice_cols;
      if (col >= here.left[0]) return;
      unsigned char* const line = here.dst + col * args.slots[0].dst_bytes;
      GPU_UNROLL_BY(1) for (int chunk = mine.number; chunk < chunks; chunk += At::chunks) {
        const unaligned_chunk<At> located = locate_chunk<At, false, false>(src, {}, line, chunk, mine.first_col);
        if (located.row >= here.left[1]) continue;
        const chunk_part part = {-src.first_row - located.row, here.left[1] - located.row};
        unsigned char* const to = line + located.row * At::dst_bytes;
        unsigned char* const other =
            here.second + col * args.slots[0].second_bytes + located.row * args.slots[1].second_bytes;
        uint32_t second[At::dst_words] = {}, made[At::dst_words];
        if (At::may_read_second && args.math.reads_second != 0) {
          load_elements<At>(second, other, args.slots[1].second_bytes, part);
        }
        make_chunk<At>(math, located, slice, second, made);
        is_all<At>(part) ? store_granules<At>(to, made) : store_elements<At>(to, made, part);
        if (second_too) store_elements<At>(other, made, part);
      }
    }
  });
}

// 6. Stores the second destination in words that are aligned in it.
template <class At, class Math>
GPU_INLINE void write_rows(const apply_args& args, const apply_origin& here, const unaligned_source& src,
                           const Math& math) {
  constexpr int U = At::unit;
  constexpr int Units = At::cols / U + (U > 1 ? 1 : 0);
  const auto cols = static_cast<int>(here.left[0] < At::cols ? here.left[0] : At::cols);
  const auto rows = static_cast<int>(here.left[1] < At::rows ? here.left[1] : At::rows);
  for (int i = static_cast<int>(thread_index()); i < rows * Units; i += At::threads) {
    const int row = i / Units;
    unsigned char* const line = here.second + row * args.slots[1].second_bytes;
    const int first = i % Units * U - static_cast<int>(low_word(line) & 3) / At::dst_bytes % U;
    const auto shift = static_cast<int>((low_word(src.first) + static_cast<uint32_t>(row * src.row_bytes)) & 15);
    const unsigned char* const from = shared_memory() + (row + At::above) * At::row_granules * 16 +
                                      (row + At::above) / At::group * 16 + shift + first * At::src_bytes;
    uint32_t s[words_of<At::src_bytes, U>] = {}, made[words_of<At::dst_bytes, U>];
    const uint32_t none[words_of<At::dst_bytes, U>] = {};
    GPU_UNROLL for (int k = 0; k < U; ++k) {
      if (first + k < 0 || first + k >= cols) continue;
      const auto one = *reinterpret_cast<const word_t<At::src_bytes>*>(from + k * At::src_bytes);
      if constexpr (At::src_bytes < 4) {
        s[k * At::src_bytes / 4] |= uint32_t{one} << k * At::src_bytes % 4 * 8;
      } else {
        to_words<At::src_bytes>(s + k * At::src_bytes / 4, one);
      }
    }
    math.template make<U>(s, none, made);
    unsigned char* const to = line + first * At::dst_bytes;
    if (first >= 0 && first + U <= cols) {
      store_global(to, from_words<U * At::dst_bytes>(made));
    } else {
      GPU_UNROLL for (int k = 0; k < U; ++k) {
        if (first + k < 0 || first + k >= cols) continue;
        if constexpr (At::dst_bytes < 4) {
          store_global(to + k * At::dst_bytes, static_cast<word_t<At::dst_bytes>>(made[0] >> k * At::dst_bytes * 8));
        }
      }
    }
  }
}

template <class At, bool Whole>
GPU_INLINE void apply_unaligned(const apply_args& args, const apply_origin& here, const unaligned_source& src) {
  const float scale = args.scale == nullptr ? 1.0f : load_cached(args.scale);
  if (args.math.reads_src != 0) {  // 1.
    if constexpr (Whole) {
      fetch_whole<At>(src);
    } else {
      fetch_unaligned<At, false, false>(src, {});
    }
  } else {
    for (int k = static_cast<int>(thread_index()) * 16; k < At::shared_bytes; k += At::threads * 16) {
      *reinterpret_cast<word_t<16>*>(shared_memory() + k) = word_t<16>{0, 0, 0, 0};
    }
  }
  if constexpr (Whole) {
    write_whole<At>(args, here, src, scale);
  } else {
    write_part<At>(args, here, src, scale);
  }
  if (args.second_written != 0 && args.second_by_cols != 0) {
    with_math<At::src_bytes, At::dst_bytes>(args.math, scale,
                                            [&](const auto& math) { write_rows<At>(args, here, src, math); });
  }
}

template <int SrcBytes, int DstBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_apply_kernel(GPU_PARAMETER apply_args args) {
  using At = unaligned_apply_tile<SrcBytes, DstBytes>;
  static_assert(threads_of(Limits) == At::threads);
  const apply_origin here = find_origin(args);
  wait_for_earlier_launches();
  const unaligned_source src = {here.src,
                                args.slots[1].src_bytes,
                                args.src_begin,
                                args.src_end,
                                args.blocks.extent[1] - here.left[1],
                                {here.left[0], here.left[1]}};
  if (is_whole<At>(src)) {
    apply_unaligned<At, true>(args, here, src);
  } else {
    apply_unaligned<At, false>(args, here, src);
  }
}

}  // namespace cornerturn::gpu
