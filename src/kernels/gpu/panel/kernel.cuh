// Panels: matrices too small or too odd for tiles, at any address that is a multiple of one element. A panel is all
// rows of a matrix and some of its columns; a team of threads moves it, a block has one team or several.
//   1. rows travel to shared memory in units of 4 or 8 bytes, from the last multiple of a unit at or before a row's
//      first element. Four bytes or eight stay free after as many rows as a chunk has elements: the same element of
//      the rows of 32 chunks that follow each other lies in 32 different banks            (rows, row_units)
//   2. after a barrier each lane gathers the elements of one aligned chunk of dst, and the same chunk of other strips:
//      what lies `chunk` columns further on is equally misaligned, on both sides           (4 columns, a chunk)
// Where columns lie end to end in dst, they are one line, and only its first and its last chunk are ever cut.
#pragma once

#include "kernels/gpu/panel/args.hpp"
#include "kernels/gpu/policy/grid.cuh"

namespace cornerturn::gpu {

// What a team moves.
struct panel {
  const unsigned char* src;
  unsigned char* dst;
  std::uint64_t begin, end;  // addresses: nothing outside [begin, end) is read
  int32_t cols;
  unsigned char* shared;
  int32_t thread;  // of the team
};

// 1.
template <int WordBytes>
GPU_INLINE void fetch_panel(const panel_shape& shape, const panel& mine) {
  constexpr int Unit = panel_unit(WordBytes), Chunk = panel_chunk(WordBytes);
  const map::fast_divisor row_units = shape.row_units;  // a copy: what is in shared memory is read again at each use
  const auto units = static_cast<int32_t>(row_units.divisor);
  const int32_t all = static_cast<int32_t>(shape.rows.divisor) * units, threads = 1 << shape.team_log2;
  const int32_t row_bytes = mine.cols * WordBytes;
  const int64_t src_row_bytes = shape.src_row_bytes;
  for (int32_t i = mine.thread; i < all; i += threads) {
    const auto row = static_cast<int32_t>(row_units.quotient(i));
    const unsigned char* const start = mine.src + row * src_row_bytes;
    const int32_t shift = WordBytes < Unit ? static_cast<int32_t>(reinterpret_cast<std::uint64_t>(start)) & 3 : 0;
    const int32_t byte = (i - row * units) * Unit - shift;
    if (byte >= row_bytes) continue;
    const unsigned char* const from = start + byte;
    unsigned char* const to = mine.shared + (i + row / Chunk) * Unit;
    if constexpr (WordBytes < Unit) {
      const auto address = reinterpret_cast<std::uint64_t>(from);
      if (address < mine.begin || address + Unit > mine.end) {
        GPU_UNROLL_BY(1) for (int k = 0; k < Unit; k += WordBytes) {
          if (address + k < mine.begin || address + k >= mine.end) continue;
          *reinterpret_cast<word_t<WordBytes>*>(to + k) = load_global<word_t<WordBytes>>(from + k);
        }
        continue;
      }
    }
    start_copy<Unit>(to, from);
  }
}

template <int WordBytes>
GPU_INLINE word_t<WordBytes> panel_element(const panel& mine, int32_t offset) {
  return *reinterpret_cast<const word_t<WordBytes>*>(mine.shared + offset);
}

// Elements k of a chunk for which from <= k < to.
template <int WordBytes>
GPU_INLINE void write_panel_chunk(const panel& mine, unsigned char* address, const int32_t* offset, int32_t further,
                                  int32_t from, int32_t to) {
  constexpr int Chunk = panel_chunk(WordBytes);
  if (from > 0 || to < Chunk) {
    GPU_UNROLL for (int k = 0; k < Chunk; ++k) {
      if (k < from || k >= to) continue;
      store_global(address + k * WordBytes, panel_element<WordBytes>(mine, offset[k] + further));
    }
    return;
  }
  word_t<WordBytes> value[Chunk];
  GPU_UNROLL for (int k = 0; k < Chunk; ++k) value[k] = panel_element<WordBytes>(mine, offset[k] + further);
  if constexpr (WordBytes == 8) {
    store_global(address, word_t<16>{value[0].x, value[0].y, value[1].x, value[1].y});
  } else if constexpr (WordBytes == 4) {
    store_global(address, word_t<16>{value[0], value[1], value[2], value[3]});
  } else if constexpr (WordBytes == 2) {
    store_global(address,
                 word_t<8>{byte_permute(value[0], value[1], 0x5410), byte_permute(value[2], value[3], 0x5410)});
  } else {
    store_global(address, byte_permute(byte_permute(value[0], value[1], 0x0040),
                                       byte_permute(value[2], value[3], 0x0040), 0x5410));
  }
}

// 2.
template <int WordBytes>
GPU_INLINE void write_panel(const panel_shape& shape, const panel& mine) {
  constexpr int Unit = panel_unit(WordBytes), Chunk = panel_chunk(WordBytes), ChunkBytes = Chunk * WordBytes;
  const auto units = static_cast<int32_t>(shape.row_units.divisor), rows = static_cast<int32_t>(shape.rows.divisor);
  const auto tasks = static_cast<int32_t>(shape.strip_tasks.divisor);
  const int32_t strips = shape.strips, threads = 1 << shape.team_log2;
  const bool end_to_end = shape.end_to_end != 0;
  const auto misalignment = [](const unsigned char* at) {
    return static_cast<int32_t>(reinterpret_cast<std::uint64_t>(at) & (ChunkBytes - 1)) / WordBytes;
  };
  for (int32_t i = mine.thread;; i += threads) {
    const auto part = static_cast<int32_t>(shape.strip_tasks.quotient(i));
    const int32_t first = part * strips * Chunk;  // column of the task's first strip
    // The last chunk of a line may lie in the strip that follows the last one.
    if (first >= mine.cols + (end_to_end ? Chunk : 0)) break;
    const int32_t task = i - part * tasks;
    int32_t row, col;       // of the chunk's first element, from the strip's first column
    int32_t element, left;  // of the line: where the chunk begins, and where the line ends
    int32_t line_step;      // elements from one strip to the next
    int64_t step_bytes;
    unsigned char* to;
    if (end_to_end) {
      const int32_t before = misalignment(mine.dst);
      const int32_t from = task * Chunk - before + rows * Chunk;  // one strip further on: it may begin before the line
      const auto above = static_cast<int32_t>(shape.rows.quotient(from));
      row = from - above * rows, col = above - Chunk;
      line_step = rows * Chunk;
      element = task * Chunk - before + part * strips * line_step;
      left = rows * mine.cols;
      step_bytes = int64_t{rows} * ChunkBytes;
      to = mine.dst + int64_t{element} * WordBytes;
    } else {
      col = static_cast<int32_t>(shape.line_chunks.quotient(task));
      unsigned char* const line = mine.dst + (first + col) * shape.dst_col_bytes;
      row = (task - col * static_cast<int32_t>(shape.line_chunks.divisor)) * Chunk - misalignment(line);
      if (row >= rows) continue;
      element = row, left = rows, line_step = 0;
      step_bytes = Chunk * shape.dst_col_bytes;
      to = line + row * WordBytes;
    }
    const int32_t there = (mine.cols - first - col + Chunk - 1) / Chunk;  // strips that have this chunk
    const int32_t end = there < strips ? there : strips;
    int32_t offset[Chunk];
    GPU_UNROLL for (int k = 0; k < Chunk; ++k) {
      const auto start = static_cast<uint32_t>(reinterpret_cast<std::uint64_t>(mine.src)) +
                         static_cast<uint32_t>(row) * static_cast<uint32_t>(shape.src_row_bytes);
      offset[k] = (row * units + row / Chunk) * Unit + (WordBytes < Unit ? static_cast<int32_t>(start & 3) : 0) +
                  (first + col) * WordBytes;
      if (++row == rows && end_to_end) row = 0, ++col;
    }
    GPU_UNROLL_BY(2) for (int32_t k = 0; k < end; ++k, element += line_step, to += step_bytes) {
      write_panel_chunk<WordBytes>(mine, to, offset, k * ChunkBytes, -element, left - element);
    }
  }
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
panel_kernel(GPU_PARAMETER panel_args args) {
  static_assert(threads_of(Limits) == panel_threads);
  const auto thread = static_cast<int32_t>(thread_index());
  const int32_t team = thread >> args.shape.team_log2;
  const uint32_t number = (block_index() << (8 - args.shape.team_log2)) + team;
  const bool exists = number < args.count;
  const tile_origin here = find_origin(args.panels, args.src, args.dst, exists ? number : 0);
  const panel mine = {here.src,
                      here.dst,
                      args.src_begin,
                      args.src_end,
                      static_cast<int32_t>(here.left[0] < args.panels.tile[0] ? here.left[0] : args.panels.tile[0]),
                      shared_memory() + team * args.shape.shared_bytes,
                      thread & ((1 << args.shape.team_log2) - 1)};
  if (exists) fetch_panel<WordBytes>(args.shape, mine);
  wait_for_copies();
  block_barrier();  // orders the units put into shared memory in 1 before their reads in 2
  if (exists) write_panel<WordBytes>(args.shape, mine);
}

// The same from a table: what a team has to know comes to shared memory first.
template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
panel_batch_kernel(GPU_PARAMETER panel_batch_args args) {
  static_assert(threads_of(Limits) == panel_threads);
  const auto block_thread = static_cast<int32_t>(thread_index());
  const int32_t team = block_thread >> args.team_log2, thread = block_thread & ((1 << args.team_log2) - 1);
  const uint32_t number = (block_index() << (8 - args.team_log2)) + team;
  const bool exists = number < args.count;
  unsigned char* const shared = shared_memory() + team * args.shared_bytes;
  constexpr int Words = sizeof(panel_item) / 16;
  if (exists && thread < Words) {
    reinterpret_cast<word_t<16>*>(shared)[thread] =
        load_cached(reinterpret_cast<const word_t<16>*>(args.items + number) + thread);
  }
  block_barrier();  // orders the item written before its reads
  const auto& item = *reinterpret_cast<const panel_item*>(shared);
  const panel mine = {reinterpret_cast<const unsigned char*>(item.src),
                      reinterpret_cast<unsigned char*>(item.dst),
                      item.src_begin,
                      item.src_end,
                      static_cast<int32_t>(item.cols),
                      shared + sizeof(panel_item),
                      thread};
  if (exists) fetch_panel<WordBytes>(item.shape, mine);
  wait_for_copies();
  block_barrier();  // orders the units put into shared memory in 1 before their reads in 2
  if (exists) write_panel<WordBytes>(item.shape, mine);
}

}  // namespace cornerturn::gpu
