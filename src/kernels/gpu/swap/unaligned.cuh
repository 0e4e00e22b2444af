// Swap, in place, at any address that is a multiple of one word. A granule is 16 aligned bytes. N words fill a chunk,
// 16 aligned bytes of dst.
//   1. find_tiles of kernel.cuh finds a tile and its mirror image
//   2. the granules that hold both tiles are copied to shared memory unchanged. The pitch of a row there is congruent to
//      its pitch in global memory modulo 16, so a byte keeps its misalignment and all offsets are linear
//   3. after a barrier each lane gathers the words of one chunk of a line of dst, from N rows of a column. All lanes load
//      row k of their groups of N rows together. A group takes an odd number of granules. So eight lanes in eight groups,
//      and the next eight lanes four bytes further on, use 32 banks for any stride. The chunk is then rotated by the
//      misalignment of its line
//   4. the words before and after the whole chunks of a line are stored one by one, because the rest of their chunks
//      belongs to other tiles
//
// Lines whose numbers differ by N are equally misaligned, so a lane computes its offsets once for many lines.
// Elements of several words have groups of one row. Their chunks are gathered in the order of dst, and never rotated.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/swap/kernel.cuh"

namespace cornerturn::gpu {

// A slice is N neighbouring lines. A step of a warp is 8 chunks of 4 lines, whose words are 4 bytes apart in
// shared memory or more. A team of warps stores all lines of its slices.
template <int WordBytes>
struct swap_lanes {
  static constexpr int n = 16 / WordBytes;
  static constexpr int along = 8;               // chunks of one line
  static constexpr int across = n < 4 ? n : 4;  // lines of one slice
  static constexpr int slices = 4 / across;     // of one step
  static constexpr int warps = n / across;      // of a team
  static constexpr int teams = swap_threads / 32 / warps;
};

// A tile in shared memory, and the address where it is stored transposed: column k becomes line k.
struct staged_tile {
  int32_t smem_offset;  // of its first element
  int32_t rows, cols;
  unsigned char* to;
};

template <int WordBytes, bool OneWord>
GPU_INLINE int32_t staged_row(const swap_args& args, uint32_t row) {
  constexpr uint32_t Group = 16 / WordBytes;
  if constexpr (!OneWord) return static_cast<int32_t>(row) * args.pitch;
  return static_cast<int32_t>(row / Group) * args.group_bytes + static_cast<int32_t>(row % Group) * args.pitch;
}

// 2.
template <int WordBytes, bool OneWord>
GPU_INLINE void fetch_tile(const swap_args& args, const staged_tile& tile, const unsigned char* from) {
  const uint32_t granules = args.granules.divisor, all = static_cast<uint32_t>(tile.rows) * granules;
  const int32_t bytes = tile.cols * args.words * WordBytes;
  for (uint32_t i = thread_index(); i < all; i += swap_threads) {
    const uint32_t row = args.granules.quotient(i);
    const unsigned char* const start = from + row * args.row_bytes;
    const int32_t byte = static_cast<int32_t>((i - row * granules) * 16) - static_cast<int32_t>(low_word(start) & 15);
    if (byte >= bytes) continue;
    unsigned char* const to = shared_memory() + tile.smem_offset + staged_row<WordBytes, OneWord>(args, row) + byte;
    fetch_used(args.src_begin, args.src_end, to, start + byte, byte < 0 ? -byte : 0,
               bytes - byte < 16 ? bytes - byte : 16);
  }
}

// The chunks of a line of dst.
template <int WordBytes>
struct line_chunks {
  int32_t head;   // bytes before the first whole chunk
  int32_t whole;  // chunks that the tile owns

  GPU_INLINE line_chunks(const unsigned char* line, int32_t words) {
    head = static_cast<int32_t>((0 - low_word(line)) & 15);
    const int32_t left = words * WordBytes - head;
    whole = left < 0 ? 0 : left / 16;
  }
};

// 3. `turn`: counts the steps of earlier calls, so that all teams get as many.
template <int WordBytes, bool OneWord>
GPU_INLINE void store_chunks(const swap_args& args, const staged_tile& tile, int32_t turn) {
  using at = swap_lanes<WordBytes>;
  const int32_t words = OneWord ? 1 : args.words, element_bytes = words * WordBytes;
  const auto thread = static_cast<int32_t>(thread_index());
  const int32_t lane = thread % 32, warp = thread / 32;
  const int32_t in_slice = warp % at::warps + lane / 8 % at::across * at::warps;
  const int32_t deeper = lane / 8 / at::across;
  const int32_t steps = (tile.cols + at::n * at::slices - 1) / (at::n * at::slices);
  unsigned char* const line = tile.to + in_slice * args.row_bytes;
  const line_chunks<WordBytes> chunks(line, tile.rows * words);
  const int64_t slice_bytes = at::n * args.row_bytes;
  for (int32_t chunk = lane % 8; chunk < chunks.whole; chunk += at::along, turn += steps) {
    const int32_t slice = ((warp / at::warps - turn) & (at::teams - 1)) * at::slices + deeper;
    int offset[at::n];
    const int32_t first = tile.smem_offset + (in_slice + slice * at::n) * element_bytes;
    if constexpr (OneWord) {
      const int32_t low = first + chunk * args.group_bytes, high = low + args.group_bytes;
      GPU_UNROLL for (int k = 0; k < at::n; ++k) {
        offset[k] = (k * WordBytes < chunks.head ? high : low) + k * args.pitch;
      }
    } else {
      const int32_t word = chunks.head / WordBytes + chunk * at::n;
      const auto row = static_cast<int32_t>(args.element.quotient(word));
      int32_t part = word - row * words, place = first + row * args.pitch + part * WordBytes;
      GPU_UNROLL for (int k = 0; k < at::n; ++k) {
        offset[k] = place;
        const bool ends = ++part == words;
        place += ends ? args.pitch + WordBytes - element_bytes : WordBytes;
        part = ends ? 0 : part;
      }
    }
    unsigned char* to = line + slice * slice_bytes + chunks.head + chunk * 16;
    int32_t further = 0;
    GPU_UNROLL_BY(2) for (int32_t j = in_slice + slice * at::n; j < tile.cols; j += at::teams * at::slices * at::n) {
      uint32_t chunk_words[4];
      gather_words<WordBytes>(chunk_words, offset, further);
      if constexpr (OneWord) rotate_down<WordBytes>(chunk_words, chunks.head);
      store_global(to, word_t<16>{chunk_words[0], chunk_words[1], chunk_words[2], chunk_words[3]});
      to += at::teams * at::slices * slice_bytes;
      further += at::teams * at::slices * 16 * words;
    }
  }
}

// 4. Lanes are words of one line. A thread's lines are equally misaligned, because their numbers differ by multiples of N.
template <int WordBytes, bool OneWord>
GPU_INLINE void store_ends(const swap_args& args, const staged_tile& tile) {
  constexpr int N = 16 / WordBytes;
  const int32_t words = OneWord ? 1 : args.words;
  const auto thread = static_cast<int32_t>(thread_index());
  unsigned char* const line = tile.to + thread / N * args.row_bytes;
  const line_chunks<WordBytes> chunks(line, tile.rows * words);
  const int32_t ends = tile.rows * words - chunks.whole * N;  // 2 N - 2 at most
  for (int32_t k = thread % N; k < ends; k += N) {
    const int32_t word = k * WordBytes < chunks.head ? k : k + chunks.whole * N;
    const auto row = static_cast<int32_t>(OneWord ? word : args.element.quotient(word));
    int32_t from = tile.smem_offset + staged_row<WordBytes, OneWord>(args, row) +
                   (word - row * words + thread / N * words) * WordBytes;
    unsigned char* to = line + word * WordBytes;
    for (int32_t j = thread / N; j < tile.cols; j += swap_threads / N) {
      store_global(to, load_shared<word_t<WordBytes>>(shared_memory() + from));
      from += swap_threads / N * words * WordBytes;
      to += swap_threads / N * args.row_bytes;
    }
  }
}

template <int WordBytes, bool OneWord>
GPU_INLINE void swap_unaligned(const swap_args& args, const tile_pair& here) {
  const auto exist = [&](int64_t left) { return left < args.tile ? static_cast<int32_t>(left) : args.tile; };
  const int32_t rows = exist(here.rows), cols = exist(here.cols);
  const auto misalignment = [](const unsigned char* tile) { return static_cast<int32_t>(low_word(tile) & 15); };
  const staged_tile upper{misalignment(here.upper), rows, cols, here.lower};
  const staged_tile lower{args.tile_bytes + misalignment(here.lower), cols, rows, here.upper};
  fetch_tile<WordBytes, OneWord>(args, upper, here.upper);  // 2.
  if (!here.diagonal) fetch_tile<WordBytes, OneWord>(args, lower, here.lower);
  wait_for_copies();
  // The barrier orders the copies to shared memory in 2 before their reads in 3 and 4. It also orders the reads of both
  // tiles in 2 before the writes to them in 3 and 4.
  block_barrier();
  store_chunks<WordBytes, OneWord>(args, upper, 0);                           // 3.
  if constexpr (WordBytes < 16) store_ends<WordBytes, OneWord>(args, upper);  // 4.
  if (here.diagonal) return;
  store_chunks<WordBytes, OneWord>(args, lower, swap_lanes<WordBytes>::teams / 2);
  if constexpr (WordBytes < 16) store_ends<WordBytes, OneWord>(args, lower);
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_swap_kernel(GPU_PARAMETER swap_args args) {
  static_assert(threads_of(Limits) == swap_threads);
  const tile_pair here = find_tiles(args);  // 1.
  if (args.words == 1) {
    swap_unaligned<WordBytes, true>(args, here);
  } else {
    swap_unaligned<WordBytes, false>(args, here);
  }
}

}  // namespace cornerturn::gpu
