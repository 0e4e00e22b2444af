// Panels: matrices too small for tiles, at any address that is a multiple of one element. A panel is all rows of a
// matrix and some of its columns. A team of threads transposes it; a block has one team or several.
//   1. rows are copied to shared memory in units of 4 or 8 bytes, from the last multiple of a unit at or before a row's
//      first element. A unit of padding follows the rows of each chunk: an element of the rows of 32 consecutive chunks
//      is in 32 different banks                                                          (rows, row_units)
//   2. after a barrier each lane gathers the elements of one aligned chunk of dst, and stores it. It repeats this for
//      chunks of other slices, which are equally misaligned on both sides                (4 columns, a chunk)
// Columns that are contiguous in dst are one line, of which only the first and the last chunk are partial.
#pragma once

#include "kernels/gpu/panel/args.hpp"
#include "kernels/gpu/policy/grid.cuh"

namespace cornerturn::gpu {

// The panel of a team.
struct panel {
  const unsigned char* src;
  unsigned char* dst;
  std::uint64_t begin, end;  // no byte outside the addresses [begin, end) is read
  int32_t cols;
  unsigned char* shared;
  int32_t thread;  // of the team
};

// 1. Copies the rows to shared memory.
template <int WordBytes>
GPU_INLINE void fetch_panel(const panel_shape& shape, const panel& mine) {
  constexpr int Unit = panel_unit(WordBytes), Chunk = panel_chunk(WordBytes);
  const map::fast_divisor row_units = shape.row_units;  // a copy: `shape` may be in shared memory, read at each use
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

// 2. Stores those elements k of a chunk for which from <= k < to.
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

// 2. Stores the columns.
template <int WordBytes>
GPU_INLINE void write_panel(const panel_shape& shape, const panel& mine) {
  constexpr int Unit = panel_unit(WordBytes), Chunk = panel_chunk(WordBytes), ChunkBytes = Chunk * WordBytes;
  const auto units = static_cast<int32_t>(shape.row_units.divisor), rows = static_cast<int32_t>(shape.rows.divisor);
  const auto tasks = static_cast<int32_t>(shape.slice_tasks.divisor);
  const int32_t slices = shape.slices, threads = 1 << shape.team_log2;
  const bool end_to_end = shape.end_to_end != 0;
  const auto misalignment = [](const unsigned char* at) {
    return static_cast<int32_t>(reinterpret_cast<std::uint64_t>(at) & (ChunkBytes - 1)) / WordBytes;
  };
  for (int32_t i = mine.thread;; i += threads) {
    const auto part = static_cast<int32_t>(shape.slice_tasks.quotient(i));
    const int32_t first = part * slices * Chunk;  // column of the task's first slice
    // A line begins within a chunk, so its last chunk may count as one of the slice after the last one.
    if (first >= mine.cols + (end_to_end ? Chunk : 0)) break;
    const int32_t task = i - part * tasks;
    int32_t row, col;       // of the chunk's first element; columns count from the slice's first one
    int32_t element, left;  // the chunk begins at this element of the line, which has `left` elements
    int32_t line_step;      // elements from one slice to the next
    int64_t step_bytes;
    unsigned char* to;
    if (end_to_end) {
      const int32_t before = misalignment(mine.dst);
      const int32_t from = task * Chunk - before + rows * Chunk;  // counted from a slice earlier: never negative
      const auto above = static_cast<int32_t>(shape.rows.quotient(from));
      row = from - above * rows, col = above - Chunk;
      line_step = rows * Chunk;
      element = task * Chunk - before + part * slices * line_step;
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
    const int32_t existing = (mine.cols - first - col + Chunk - 1) / Chunk;  // slices of the panel with this chunk
    const int32_t end = existing < slices ? existing : slices;
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
  wait_for_earlier_launches();
  const panel mine = {here.src,
                      here.dst,
                      args.src_begin,
                      args.src_end,
                      static_cast<int32_t>(here.left[0] < args.panels.tile[0] ? here.left[0] : args.panels.tile[0]),
                      shared_memory() + team * args.shape.shared_bytes,
                      thread & ((1 << args.shape.team_log2) - 1)};
  if (exists) fetch_panel<WordBytes>(args.shape, mine);  // 1.
  wait_for_copies();
  block_barrier();  // orders the units copied to shared memory in 1 before their reads in 2
  if (exists) write_panel<WordBytes>(args.shape, mine);  // 2.
}

// Panels from a table: each team first copies its panel_item to shared memory.
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
  wait_for_earlier_launches();
  if (exists && thread < Words) {
    reinterpret_cast<word_t<16>*>(shared)[thread] =
        load_cached(reinterpret_cast<const word_t<16>*>(args.items + number) + thread);
  }
  block_barrier();  // orders the write of the item before its reads in 1 and 2
  const auto& item = *reinterpret_cast<const panel_item*>(shared);
  const panel mine = {reinterpret_cast<const unsigned char*>(item.src),
                      reinterpret_cast<unsigned char*>(item.dst),
                      item.src_begin,
                      item.src_end,
                      static_cast<int32_t>(item.cols),
                      shared + sizeof(panel_item),
                      thread};
  if (exists) fetch_panel<WordBytes>(item.shape, mine);  // 1.
  wait_for_copies();
  block_barrier();  // orders the units copied to shared memory in 1 before their reads in 2
  if (exists) write_panel<WordBytes>(item.shape, mine);  // 2.
}

}  // namespace cornerturn::gpu
