// Interleave: structures of Count elements of WordBytes each. They are contiguous in runs on one side; on the other
// side each element has an array of its own. Both sides are accessed in aligned chunks of 16 bytes, V = 16 / WordBytes
// elements.
//   deinterleave, structures to arrays:
//     1. the chunks of the structures are copied to shared memory
//     2. after a barrier each thread loads V structures, which are Count chunks
//     3. it regroups them to Count chunks of V elements, one for each array, and stores these: 32 lanes, 512 bytes
//   interleave, arrays to structures:
//     1. each thread loads V elements of each array, which are Count chunks
//     2. it regroups them to V structures, which it stores to shared memory
//     3. after a barrier the chunks of the structures are stored to dst
// Elements of four bytes or more are regrouped by register names, narrower ones by byte permutations.
// Chunk g is at slot g + g / 8 of shared memory, so that threads, Count chunks apart, use different banks.
#pragma once

#include "kernels/gpu/interleave/args.hpp"
#include "kernels/gpu/policy/chunk.cuh"
#include "kernels/gpu/policy/fused_axes.cuh"

namespace cornerturn::gpu {

template <int WordBytes, int Count>
struct interleave_tile {
  static constexpr int threads = 256;
  static constexpr int v = 16 / WordBytes;
  static constexpr int extent = threads * v;  // rows of a deinterleave, columns of an interleave
  static constexpr int chunks = threads * Count;
  static constexpr int shared_bytes = (chunks + chunks / 8) * 16;
  CORNERTURN_HOST_DEVICE static constexpr int smem_offset(int chunk) { return (chunk + chunk / 8) * 16; }
};

// Byte `index` of a list of words, as a selector of byte_permute for its first operand.
GPU_INLINE constexpr int selector(int index) { return index & 3; }

// The word of the bytes a, b, c and d of `from`.
template <int Words>
GPU_INLINE uint32_t pick(const uint32_t (&from)[Words], int a, int b, int c, int d) {
  const uint32_t low = byte_permute(from[a / 4], from[b / 4], selector(a) | (4 + selector(b)) << 4);
  const uint32_t high = byte_permute(from[c / 4], from[d / 4], selector(c) | (4 + selector(d)) << 4);
  return byte_permute(low, high, 0x5410);
}

// Regroups V structures of Count elements to Count arrays of V elements (Split), or Count arrays to V structures.
template <int WordBytes, int Count, bool Split>
GPU_INLINE void regroup(const uint32_t (&from)[4 * Count], uint32_t (&to)[4 * Count]) {
  constexpr int V = 16 / WordBytes;
  constexpr auto source = [](int byte) {  // of byte `byte` of the result
    const int element = byte / WordBytes;
    const int origin = Split ? element % V * Count + element / V : element % Count * V + element / Count;
    return origin * WordBytes + byte % WordBytes;
  };
  GPU_UNROLL for (int w = 0; w < 4 * Count; ++w) {
    if constexpr (WordBytes >= 4) {
      to[w] = from[source(4 * w) / 4];
    } else {
      to[w] = pick(from, source(4 * w), source(4 * w + 1), source(4 * w + 2), source(4 * w + 3));
    }
  }
}

// The offsets of a chunk of the structures, and of V elements of an array from index `first` on.
GPU_INLINE int64_t structure_offset(const interleave_args& args, uint32_t chunk) {
  if (args.runs.rank == 0) return int64_t{chunk} * 16;
  const uint32_t run = args.run_chunks.quotient(chunk);
  return fused_offset(args.runs, run) + int64_t{chunk - run * args.run_chunks.divisor} * 16;
}
GPU_INLINE int64_t array_offset(const interleave_args& args, uint32_t first, int word_bytes) {
  return args.arrays.rank == 0 ? int64_t{first} * word_bytes : fused_offset(args.arrays, first);
}

// The structures [first, first + count) of a block; slot 0 counts them.
struct structures {
  uint32_t first;
  int32_t count;
};
GPU_INLINE structures find_structures(const interleave_args& args, const tile_origin& here, int extent) {
  return {static_cast<uint32_t>(args.blocks.extent[0] - here.left[0]),
          here.left[0] < extent ? static_cast<int32_t>(here.left[0]) : extent};
}

template <int WordBytes, int Count, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
deinterleave_kernel(GPU_PARAMETER interleave_args args) {
  static_assert(threads_of(Limits) == interleave_tile<WordBytes, Count>::threads);
  using at = interleave_tile<WordBytes, Count>;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  const structures all = find_structures(args, here, at::extent);
  unsigned char* const tile = shared_memory();
  const auto thread = static_cast<int>(thread_index());
  const int32_t bytes = all.count * Count * WordBytes;
  const uint32_t first_chunk = all.first / at::v * Count;
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 1.
    const int chunk = k * at::threads + thread;
    if (chunk * 16 >= bytes) continue;
    const unsigned char* const from = here.src + structure_offset(args, first_chunk + chunk);
    if (chunk * 16 + 16 <= bytes) {
      start_copy<16>(tile + at::smem_offset(chunk), from);
    } else {
      for (int i = 0; i < bytes - chunk * 16; ++i) tile[at::smem_offset(chunk) + i] = from[i];
    }
  }
  wait_for_copies();
  block_barrier();  // orders the chunks copied in 1 before their reads in 2
  if (thread * at::v >= all.count) return;
  uint32_t mine[4 * Count];     //                                                        (V structures, Count)
  uint32_t columns[4 * Count];  //                                                        (Count, V structures)
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 2.
    const auto chunk = *reinterpret_cast<const word_t<16>*>(tile + at::smem_offset(thread * Count + k));
    mine[4 * k] = chunk.x, mine[4 * k + 1] = chunk.y, mine[4 * k + 2] = chunk.z, mine[4 * k + 3] = chunk.w;
  }
  regroup<WordBytes, Count, true>(mine, columns);
  unsigned char* to = here.dst + array_offset(args, all.first + thread * at::v, WordBytes);
  GPU_UNROLL for (int k = 0; k < Count; ++k, to += args.dst_col_bytes) {  // 3.
    store_chunk<WordBytes>(to, {columns[4 * k], columns[4 * k + 1], columns[4 * k + 2], columns[4 * k + 3]},
                           all.count - thread * at::v);
  }
}

template <int WordBytes, int Count, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
interleave_kernel(GPU_PARAMETER interleave_args args) {
  static_assert(threads_of(Limits) == interleave_tile<WordBytes, Count>::threads);
  using at = interleave_tile<WordBytes, Count>;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  const structures all = find_structures(args, here, at::extent);
  unsigned char* const tile = shared_memory();
  const auto thread = static_cast<int>(thread_index());
  const int32_t bytes = all.count * Count * WordBytes;
  const uint32_t first_chunk = all.first / at::v * Count;
  uint32_t rows[4 * Count];  //                                                           (Count, V structures)
  uint32_t mine[4 * Count];  //                                                           (V structures, Count)
  const unsigned char* from = here.src + array_offset(args, all.first + thread * at::v, WordBytes);
  GPU_UNROLL for (int k = 0; k < Count; ++k, from += args.src_row_bytes) {  // 1.
    uint32_t chunk[4];
    load_chunk<WordBytes>(chunk, from, all.count - thread * at::v);
    rows[4 * k] = chunk[0], rows[4 * k + 1] = chunk[1], rows[4 * k + 2] = chunk[2], rows[4 * k + 3] = chunk[3];
  }
  regroup<WordBytes, Count, false>(rows, mine);
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 2.
    *reinterpret_cast<word_t<16>*>(tile + at::smem_offset(thread * Count + k)) = {mine[4 * k], mine[4 * k + 1],
                                                                                  mine[4 * k + 2], mine[4 * k + 3]};
  }
  block_barrier();                              // orders the chunks stored in 2 before their reads in 3
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 3.
    const int chunk = k * at::threads + thread;
    if (chunk * 16 >= bytes) continue;
    unsigned char* const to = here.dst + structure_offset(args, first_chunk + chunk);
    if (chunk * 16 + 16 <= bytes) {
      store_global(to, *reinterpret_cast<const word_t<16>*>(tile + at::smem_offset(chunk)));
    } else {
      for (int i = 0; i < bytes - chunk * 16; ++i) to[i] = tile[at::smem_offset(chunk) + i];
    }
  }
}

}  // namespace cornerturn::gpu
