// Interleave as in interleave/kernel.cuh, for arrays and structures at any multiple of one element. A unit is V
// structures, Count chunks. Units begin up to V - 1 structures before the first one, so that their chunks are aligned.
// A block has a unit for each thread. Neighbouring blocks share one, because an aligned chunk of an array has elements
// of two units.
//   deinterleave: 1. the chunks of the units are copied to shared memory
//                 2. after a barrier each thread regroups its unit to chunks of arrays
//                 3. after a barrier it stores these to shared memory
//                 4. after a barrier each thread realigns 16 aligned bytes of dst from two chunks of an array
//   interleave:   1. the aligned chunks of the arrays are copied to shared memory
//                 2. after a barrier each thread realigns V elements of each array, and regroups them to a unit
//                 3. after a barrier it stores the unit to shared memory
//                 4. after a barrier the chunks of the units are stored in order
#pragma once

#include "kernels/gpu/interleave/kernel.cuh"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

template <int WordBytes, int Count>
struct unaligned_interleave_tile {
  using aligned = interleave_tile<WordBytes, Count>;
  static constexpr int threads = aligned::threads;  // and units
  static constexpr int v = aligned::v;
  static constexpr int structure_bytes = WordBytes * Count;

  // Addresses of structures are multiples of `unit` bytes, so every `period`th structure begins at a chunk.
  static constexpr int unit = structure_bytes & -structure_bytes;
  static constexpr int period = 16 / unit;
  static constexpr int inverse = [] {  // of structure_bytes / unit, modulo period
    int found = 1;
    while (found * (structure_bytes / unit) % period != 1 % period) ++found;
    return found;
  }();
  // The number of structures from the last aligned one to the structure at `first`.
  GPU_INLINE static int lead(const void* first) {
    return static_cast<int>(low_word(first) / unit * inverse & (period - 1));
  }
};

// A block has the structures from `first` on, which may be negative, of `total` ones.
struct unit_range {
  int64_t first;
  int64_t total;
  // True when [at, at + count) overlaps [0, all), and when it is contained in [0, all).
  GPU_INLINE static bool overlaps(int64_t at, int count, int64_t all) { return at + count > 0 && at < all; }
  GPU_INLINE static bool contains(int64_t at, int count, int64_t all) { return at >= 0 && at + count <= all; }
};

template <int WordBytes, int Count>
GPU_INLINE unit_range find_units(const tile_args& args, const tile_origin& here, const void* structures) {
  return {args.blocks.extent[0] - here.left[0] - unaligned_interleave_tile<WordBytes, Count>::lead(structures),
          args.blocks.extent[0]};
}

template <int Words>
GPU_INLINE word_t<16> chunk_of(const uint32_t (&words)[Words], int k) {
  return {words[4 * k], words[4 * k + 1], words[4 * k + 2], words[4 * k + 3]};
}

template <int WordBytes, int Count, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_deinterleave_kernel(GPU_PARAMETER tile_args args) {
  static_assert(threads_of(Limits) == unaligned_interleave_tile<WordBytes, Count>::threads);
  using at = unaligned_interleave_tile<WordBytes, Count>;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  const unit_range units = find_units<WordBytes, Count>(args, here, here.src);
  const auto thread = static_cast<int>(thread_index());
  const unaligned_source src = {here.src, 0, args.src_begin, args.src_end, 0, {0, 0}};
  const int64_t first = units.first - at::v;                           // of the unit of thread 0, which is the halo
  const auto chunks = reinterpret_cast<word_t<16>*>(shared_memory());  // in 3 and 4
  const auto smem_of = [](int chunk) { return shared_memory() + at::aligned::smem_offset(chunk); };
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 1.
    const int chunk = k * at::threads + thread;
    const int64_t byte = first * at::structure_bytes + chunk * 16;
    if (!units.overlaps(byte, 16, units.total * at::structure_bytes)) continue;
    fetch_part(src, smem_of(chunk), here.src + byte);
  }
  wait_for_copies();
  block_barrier();              // orders the chunks copied in 1 before their reads in 2
  uint32_t mine[4 * Count];     //                                                        (V structures, Count)
  uint32_t columns[4 * Count];  //                                                        (Count, V structures)
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 2.
    const auto chunk = *reinterpret_cast<const word_t<16>*>(smem_of(thread * Count + k));
    mine[4 * k] = chunk.x, mine[4 * k + 1] = chunk.y, mine[4 * k + 2] = chunk.z, mine[4 * k + 3] = chunk.w;
  }
  regroup<WordBytes, Count, true>(mine, columns);
  block_barrier();  // orders the reads of the units in 2 before the writes of the columns in 3
  GPU_UNROLL for (int k = 0; k < Count; ++k) chunks[k * at::threads + thread] = chunk_of(columns, k);  // 3.
  block_barrier();                              // orders the columns stored in 3 before their reads in 4
  if (thread == 0) return;                      // the block before this one stores the chunks that begin in the halo
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 4.
    unsigned char* const line = here.dst + k * args.dst_col_bytes;
    const uint32_t before = low_word(line + first * WordBytes) & 15;
    const int64_t row = first + thread * at::v - static_cast<int>(before) / WordBytes;
    if (!units.overlaps(row, at::v, units.total)) continue;
    const word_t<16>* const low = chunks + k * at::threads + thread - (before == 0 ? 0 : 1);
    uint32_t words[4];
    realign<WordBytes>(words, view_shared(low), view_shared(&chunks[k * at::threads + thread]), 16 - before & 15);
    unsigned char* const to = line + row * WordBytes;
    if (units.contains(row, at::v, units.total)) {
      store_global(to, word_t<16>{words[0], words[1], words[2], words[3]});
    } else {
      store_rows<WordBytes>(to, words, -row, units.total - row);
    }
  }
}

template <int WordBytes, int Count, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_interleave_kernel(GPU_PARAMETER tile_args args) {
  static_assert(threads_of(Limits) == unaligned_interleave_tile<WordBytes, Count>::threads);
  using at = unaligned_interleave_tile<WordBytes, Count>;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  const unit_range units = find_units<WordBytes, Count>(args, here, here.dst);
  const auto thread = static_cast<int>(thread_index());
  const unaligned_source src = {here.src, 0, args.src_begin, args.src_end, 0, {0, 0}};
  const auto chunks = reinterpret_cast<word_t<16>*>(shared_memory());  // in 1 and 2
  const auto smem_of = [](int chunk) { return shared_memory() + at::aligned::smem_offset(chunk); };
  uint32_t before[Count];                       // misalignment of the block's first element of each array
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 1.                                     (Count, threads, 16 bytes)
    const unsigned char* const line = here.src + k * args.src_row_bytes;
    before[k] = low_word(line + units.first * WordBytes) & 15;
    const int64_t col = units.first + thread * at::v - static_cast<int>(before[k]) / WordBytes;
    if (units.overlaps(col, at::v, units.total))
      fetch_part(src, reinterpret_cast<unsigned char*>(chunks + k * at::threads + thread), line + col * WordBytes);
  }
  wait_for_copies();
  block_barrier();           // orders the chunks copied in 1 before their reads in 2
  uint32_t rows[4 * Count];  //                          (Count, V structures)
  uint32_t mine[4 * Count];  //                          (V structures, Count)
  const int next = thread + 1 < at::threads ? thread + 1 : thread;  // the next block stores the last unit
  GPU_UNROLL for (int k = 0; k < Count; ++k) {                      // 2.
    uint32_t taken[4];
    realign<WordBytes>(taken, view_shared(chunks + k * at::threads + thread),
                       view_shared(chunks + k * at::threads + next), before[k]);
    GPU_UNROLL for (int w = 0; w < 4; ++w) rows[4 * k + w] = taken[w];
  }
  regroup<WordBytes, Count, false>(rows, mine);
  block_barrier();  // orders the reads of the chunks in 2 before the writes of the units in 3
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 3.
    *reinterpret_cast<word_t<16>*>(smem_of(thread * Count + k)) = chunk_of(mine, k);
  }
  block_barrier();                              // orders the units stored in 3 before their reads in 4
  GPU_UNROLL for (int k = 0; k < Count; ++k) {  // 4.
    const int chunk = k * at::threads + thread;
    const int64_t byte = units.first * at::structure_bytes + chunk * 16, all = units.total * at::structure_bytes;
    if (chunk >= (at::threads - 1) * Count || !units.overlaps(byte, 16, all)) continue;
    unsigned char* const to = here.dst + byte;
    if (units.contains(byte, 16, all)) {
      store_global(to, *reinterpret_cast<const word_t<16>*>(smem_of(chunk)));
    } else {
      GPU_UNROLL_BY(1) for (int i = 0; i < 16; ++i) {
        if (byte + i >= 0 && byte + i < all) to[i] = smem_of(chunk)[i];
      }
    }
  }
}

}  // namespace cornerturn::gpu
