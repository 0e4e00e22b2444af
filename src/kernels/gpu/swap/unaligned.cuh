// Swap, in place, at any address that is a multiple of one word. A granule is 16 aligned bytes. N words fill a chunk,
// 16 aligned bytes of dst.
//   1. find_tiles of kernel.cuh finds a tile and its mirror image
//   2. the granules that hold both tiles are copied to shared memory unchanged. The pitch of a row there is congruent to
//      its pitch in global memory modulo 16, so a byte keeps its misalignment and all offsets are linear
//   3. after a barrier both tiles are stored, transposed. Words of 4 bytes and more: lanes store the words of 128 aligned
//      bytes of a line of dst together, one request to L2. They load them from one column of shared memory. Words of 1 and
//      2 bytes: each lane gathers the words of one chunk of a line, from N rows of a column. All lanes load row k of their
//      groups of N rows together. The chunk is then rotated by the misalignment of its line
//   4. words of 1 and 2 bytes: those before and after the whole chunks of a line are stored one by one, because the rest
//      of their chunks belongs to other tiles
//
// Elements of one word have groups of N rows, and a group takes an odd number of granules: lanes of eight groups use 32
// banks, if lanes of one group do not meet in one. Elements of several words have groups of one row. Their chunks are
// gathered in the order of dst, and never rotated.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/swap/kernel.cuh"

namespace cornerturn::gpu {

// A tile in shared memory, and the address where it is stored transposed: column k becomes line k.
struct staged_tile {
  int32_t smem_offset;  // of its first element
  int32_t rows, cols;
  unsigned char* to;
};

template <int WordBytes>
GPU_INLINE int32_t staged_row(const swap_args& args, int32_t row) {
  constexpr int32_t Group = 16 / WordBytes;
  return row * args.pitch + row / Group * (args.group_bytes - Group * args.pitch);
}

// 2.
template <int WordBytes>
GPU_INLINE void fetch_tile(const swap_args& args, const staged_tile& tile, const unsigned char* from) {
  const uint32_t granules = args.granules.divisor, all = static_cast<uint32_t>(tile.rows) * granules;
  const int32_t bytes = tile.cols * args.words * WordBytes;
  for (uint32_t i = thread_index(); i < all; i += swap_threads) {
    const uint32_t row = args.granules.quotient(i);
    const unsigned char* const start = from + row * args.row_bytes;
    const int32_t byte = static_cast<int32_t>((i - row * granules) * 16) - static_cast<int32_t>(low_word(start) & 15);
    if (byte >= bytes) continue;
    unsigned char* const to =
        shared_memory() + tile.smem_offset + staged_row<WordBytes>(args, static_cast<int32_t>(row)) + byte;
    fetch_used(args.src_begin, args.src_end, to, start + byte, byte < 0 ? -byte : 0,
               bytes - byte < 16 ? bytes - byte : 16);
  }
}

// 3. Words of 4 bytes and more. As many lanes as 128 bytes have words store a line.
template <int WordBytes, bool OneWord>
GPU_INLINE void store_lines(const swap_args& args, const staged_tile& tile) {
  constexpr int32_t Lanes = 128 / WordBytes, Lines = swap_threads / Lanes;  // of a step of the block
  const int32_t words = OneWord ? 1 : args.words, all = tile.rows * words;
  const auto thread = static_cast<int32_t>(thread_index());
  unsigned char* line = tile.to + thread / Lanes * args.row_bytes;
  int32_t column = tile.smem_offset + thread / Lanes * words * WordBytes;
  for (int32_t j = thread / Lanes; j < tile.cols; j += Lines) {
    const auto before = static_cast<int32_t>(low_word(line) & 127) / WordBytes;  // words of the first 128 bytes
    // All lanes of a line do all steps: lanes that left early would store in requests of their own.
    const int32_t steps = (before + all + Lanes - 1) / Lanes;
    int32_t word = thread % Lanes - before;
    GPU_UNROLL_BY(2) for (int32_t k = 0; k < steps; ++k, word += Lanes) {
      if (word < 0 || word >= all) continue;
      const int32_t row = OneWord ? word : static_cast<int32_t>(args.element.quotient(word));
      const int32_t part = OneWord ? 0 : word - row * words;
      const int32_t from = column + staged_row<WordBytes>(args, row) + part * WordBytes;
      store_global(line + word * WordBytes, load_shared<word_t<WordBytes>>(shared_memory() + from));
    }
    line += Lines * args.row_bytes;
    column += Lines * words * WordBytes;
  }
}

// A slice is N neighbouring lines. A step of a warp is 8 chunks of 4 lines, whose words are 4 bytes apart in shared memory
// or more. A team of warps stores all lines of its slices. Lines whose numbers differ by N are equally misaligned, so a
// lane computes its offsets once for many lines.
template <int WordBytes>
struct swap_lanes {
  static constexpr int n = 16 / WordBytes;
  static constexpr int along = 8;                    // chunks of one line
  static constexpr int across = warp_lanes / along;  // lines of one slice
  static constexpr int warps = n / across;           // of a team
  static constexpr int teams = swap_threads / warp_lanes / warps;
};

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

// 3. Words of 1 and 2 bytes. `turn`: counts the steps of earlier calls, so that all teams get as many.
template <int WordBytes, bool OneWord>
GPU_INLINE void store_chunks(const swap_args& args, const staged_tile& tile, int32_t turn) {
  using at = swap_lanes<WordBytes>;
  const int32_t words = OneWord ? 1 : args.words, element_bytes = words * WordBytes;
  const auto thread = static_cast<int32_t>(thread_index());
  const int32_t lane = thread % warp_lanes, warp = thread / warp_lanes;
  const int32_t in_slice = warp % at::warps + lane / at::along * at::warps;
  const int32_t steps = (tile.cols + at::n - 1) / at::n;
  unsigned char* const line = tile.to + in_slice * args.row_bytes;
  const line_chunks<WordBytes> chunks(line, tile.rows * words);
  const int64_t slice_bytes = at::n * args.row_bytes;
  for (int32_t chunk = lane % at::along; chunk < chunks.whole; chunk += at::along, turn += steps) {
    const int32_t slice = (warp / at::warps - turn) & (at::teams - 1);
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
    GPU_UNROLL_BY(2) for (int32_t j = in_slice + slice * at::n; j < tile.cols; j += at::teams * at::n) {
      uint32_t chunk_words[4];
      gather_words<WordBytes>(chunk_words, offset, further);
      if constexpr (OneWord) rotate_down<WordBytes>(chunk_words, chunks.head);
      store_global(to, word_t<16>{chunk_words[0], chunk_words[1], chunk_words[2], chunk_words[3]});
      to += at::teams * slice_bytes;
      further += at::teams * 16 * words;
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
    int32_t from =
        tile.smem_offset + staged_row<WordBytes>(args, row) + (word - row * words + thread / N * words) * WordBytes;
    unsigned char* to = line + word * WordBytes;
    for (int32_t j = thread / N; j < tile.cols; j += swap_threads / N) {
      store_global(to, load_shared<word_t<WordBytes>>(shared_memory() + from));
      from += swap_threads / N * words * WordBytes;
      to += swap_threads / N * args.row_bytes;
    }
  }
}

template <int WordBytes, bool OneWord>
GPU_INLINE void store_tile(const swap_args& args, const staged_tile& tile, bool second) {
  if constexpr (WordBytes >= 4) {
    store_lines<WordBytes, OneWord>(args, tile);
  } else {
    store_chunks<WordBytes, OneWord>(args, tile, second ? swap_lanes<WordBytes>::teams / 2 : 0);
    store_ends<WordBytes, OneWord>(args, tile);
  }
}

template <int WordBytes, bool OneWord>
GPU_INLINE void swap_unaligned(const swap_args& args, const tile_pair& here) {
  const auto exist = [&](int64_t left) { return left < args.tile ? static_cast<int32_t>(left) : args.tile; };
  const int32_t rows = exist(here.rows), cols = exist(here.cols);
  const auto misalignment = [](const unsigned char* tile) { return static_cast<int32_t>(low_word(tile) & 15); };
  const staged_tile upper{misalignment(here.upper), rows, cols, here.lower};
  const staged_tile lower{args.tile_bytes + misalignment(here.lower), cols, rows, here.upper};
  fetch_tile<WordBytes>(args, upper, here.upper);  // 2.
  if (!here.diagonal) fetch_tile<WordBytes>(args, lower, here.lower);
  wait_for_copies();
  // The barrier orders the copies to shared memory in 2 before their reads in 3 and 4. It also orders the reads of both
  // tiles in 2 before the writes to them in 3 and 4.
  block_barrier();
  store_tile<WordBytes, OneWord>(args, upper, false);  // 3. and 4.
  if (!here.diagonal) store_tile<WordBytes, OneWord>(args, lower, true);
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_swap_kernel(GPU_PARAMETER swap_args args) {
  static_assert(threads_of(Limits) == swap_threads);
  const tile_pair here = find_tiles(args);  // 1.
  wait_for_earlier_launches();
  if (args.words == 1) {
    swap_unaligned<WordBytes, true>(args, here);
  } else {
    swap_unaligned<WordBytes, false>(args, here);
  }
}

}  // namespace cornerturn::gpu
