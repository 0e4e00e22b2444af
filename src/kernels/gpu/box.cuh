// Box: any axes, any alignment of at least one element. A box is a product of index ranges, small enough for shared
// memory, that holds long runs of src addresses and long lines of dst addresses at the same time. The two may share
// axes.
//   1. tables: where each run begins in src                                             (runs)
//   2. the runs are copied to shared memory word by word; narrow elements travel in four-byte words that begin where
//      their run begins                                                                 (runs x pitch bytes)
//   3. while they travel, tables: where each line begins in dst, and where each element of a line's first piece lies in
//      shared memory, or each group of elements that share a four-byte word of dst, for all alignments of a line; the
//      other pieces of the line look the same, further on
//   4. after a barrier each lane collects one word of a line and writes it
// Every list of axes has the one that a tile may cut last, so a box at an edge is a prefix of a whole one, and all
// divisions are by numbers that the plan knows.
#pragma once

#include "kernels/gpu/grid.cuh"

namespace cornerturn::gpu {

inline constexpr int box_threads = 256;

// Elements of a line that is contiguous in dst and that a lane collects at once: those of a four-byte word.
template <int WordBytes>
inline constexpr int box_packed = WordBytes < 4 ? 4 / WordBytes : 1;

struct box_tables {
  int64_t* run_src;       // (runs)
  int64_t* element_src;   // (run_elements), only when a run is not contiguous
  int64_t* line_dst;      // (lines)
  int64_t* element_dst;   // (elements of a piece), only when a line is not contiguous
  int32_t* element_smem;  // (elements of a piece), or (alignments, words of a piece, elements of a word)
  int32_t* line_smem;     // (lines)
};

template <int WordBytes>
GPU_INLINE box_tables find_tables(const box_job& job) {
  constexpr int Packed = box_packed<WordBytes>;
  const auto piece = static_cast<int32_t>(job.piece.divisor);
  box_tables at;
  at.element_smem = reinterpret_cast<int32_t*>(shared_memory() + job.tables);
  const int32_t places = Packed > 1 && job.line_is_contiguous ? Packed * Packed * piece : piece + (piece & 1);
  at.run_src = reinterpret_cast<int64_t*>(at.element_smem + places);
  at.element_src = at.run_src + job.runs;
  at.line_dst = at.element_src + (job.run_is_contiguous ? 0 : job.run_elements);
  at.element_dst = at.line_dst + job.lines;
  at.line_smem = reinterpret_cast<int32_t*>(at.element_dst + (job.line_is_contiguous ? 0 : piece));
  return at;
}

GPU_INLINE int32_t length(int32_t slot, int32_t tile, const place& here) {
  if (slot < 0) return tile;
  const int64_t left = slot == 0 ? here.left[0] : here.left[1];
  return left < tile ? static_cast<int32_t>(left) : tile;
}

GPU_INLINE int32_t count(const box_job& job, box_count number, const place& here) {
  return number.slot < 0 ? number.each : number.each * length(number.slot, job.blocks.tile[number.slot], here);
}

GPU_INLINE int64_t src_offset(const box_axis* axes, int32_t first, int32_t last, int32_t index) {
  int64_t offset = 0;
  for (int32_t k = first; k < last; ++k) {
    const auto above = static_cast<int32_t>(axes[k].tile.quotient(index));
    offset += (index - above * static_cast<int32_t>(axes[k].tile.divisor)) * axes[k].src_stride_bytes;
    index = above;
  }
  return offset;
}

// The dst offset of an index of a line list, and its place in shared memory. An axis that runs the other way in dst
// counts from its end.
GPU_INLINE int64_t dst_offset(const box_axis* axes, int32_t first, int32_t last, int32_t index, int32_t& place) {
  int64_t offset = 0;
  place = 0;
  for (int32_t k = first; k < last; ++k) {
    const box_axis& axis = axes[k];
    const auto above = static_cast<int32_t>(axis.tile.quotient(index));
    const int32_t mine = index - above * static_cast<int32_t>(axis.tile.divisor);
    offset += mine * axis.dst_stride_bytes;
    place += mine * axis.smem_stride;
    index = above;
  }
  return offset;
}

GPU_INLINE int32_t skewed(const box_job& job, int32_t place) { return place + (place >> 7) * job.skew; }

// 2. Four bytes of a run of narrow elements, from any address. What lies behind the end of src is not read.
GPU_INLINE void fetch_narrow(const box_job& job, const unsigned char* global, unsigned char* shared) {
  const auto address = reinterpret_cast<std::uint64_t>(global);
  const auto shift = static_cast<uint32_t>(address & 3);
  const std::uint64_t aligned = address - shift;
  if (shift == 0 && address + 4 <= job.src_end) return start_copy<4>(shared, global);
  uint32_t value = 0;
  if (aligned >= job.src_begin && aligned + 8 <= job.src_end) {
    const auto* const words = reinterpret_cast<const uint32_t*>(global - shift);
    value = funnel_shift_right(load_cached(words), load_cached(words + 1), 8 * shift);
  } else {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if (address + k < job.src_end) value |= uint32_t{global[k]} << 8 * k;
    }
  }
  *reinterpret_cast<uint32_t*>(shared) = value;
}

// What a thread does in a task: `line` of a stack of lines (or runs), and words `word`, word + step, ... of it.
struct task {
  int32_t line;
  int32_t word;
  int32_t step;
};

GPU_INLINE task find_task(int32_t number, int32_t lanes, const map::fast_divisor& chunks) {
  const auto lane = static_cast<int32_t>(thread_index()) & 31;
  const auto stack = static_cast<int32_t>(chunks.quotient(number));
  const int32_t chunk = number - stack * static_cast<int32_t>(chunks.divisor);
  return {(stack << 5 - lanes) + (lane >> lanes), chunk * (box_steps << lanes) + (lane & (1 << lanes) - 1), 1 << lanes};
}

GPU_INLINE int32_t tasks(int32_t lines, int32_t lanes, const map::fast_divisor& chunks) {
  return (lines + (31 >> lanes) >> 5 - lanes) * static_cast<int32_t>(chunks.divisor);
}

template <int WordBytes>
GPU_INLINE void fetch_runs(const box_job& job, const box_tables& at, const unsigned char* src, int32_t runs,
                           int32_t elements) {
  constexpr int Word = WordBytes < 4 ? 4 : WordBytes;
  unsigned char* const box = shared_memory();
  const int32_t all = tasks(runs, job.run_lanes, job.run_chunks);
  for (auto i = static_cast<int32_t>(thread_index() >> 5); i < all; i += box_threads / 32) {
    const task mine = find_task(i, job.run_lanes, job.run_chunks);
    if (mine.line >= runs) continue;
    const unsigned char* const start = src + at.run_src[mine.line];
    const int32_t first = mine.line * job.pitch;
    if (job.run_is_contiguous) {
      const int32_t bytes = elements * WordBytes;
      GPU_UNROLL for (int k = 0; k < box_steps; ++k) {
        const int32_t byte = (mine.word + k * mine.step) * Word;
        unsigned char* const to = box + skewed(job, first + byte);
        if (byte >= bytes) continue;
        if constexpr (WordBytes < 4) {
          fetch_narrow(job, start + byte, to);
        } else {
          start_copy<Word>(to, start + byte);
        }
      }
      continue;
    }
    for (int k = 0; k < box_steps; ++k) {
      const int32_t element = mine.word + k * mine.step;
      if (element >= elements) break;
      unsigned char* const to = box + skewed(job, first + element * WordBytes);
      const unsigned char* const from = start + at.element_src[element];
      if constexpr (WordBytes >= 4) {
        start_copy<WordBytes>(to, from);
      } else {
        *reinterpret_cast<word_t<WordBytes>*>(to) = load_global<word_t<WordBytes>>(from);
      }
    }
  }
}

template <int WordBytes>
GPU_INLINE word_t<WordBytes> collect(const box_job& job, int32_t place) {
  return *reinterpret_cast<const word_t<WordBytes>*>(shared_memory() + skewed(job, place));
}

// 3. Groups of elements that share a word of dst: with a line that begins `shift` elements into its first word, the
// elements q * Packed - shift + k of a piece, k = 0 ... Packed - 1. Those before the piece are the last of the one
// before it.
template <int WordBytes>
GPU_INLINE void fill_groups(const box_job& job, int32_t* element_smem) {
  constexpr int Packed = box_packed<WordBytes>;
  const auto words = static_cast<int32_t>(job.piece.divisor);
  for (auto i = static_cast<int32_t>(thread_index()); i < Packed * Packed * words; i += box_threads) {
    const int32_t group = i / Packed;
    const auto shift = static_cast<int32_t>(job.piece.quotient(group));
    const int32_t p = (group - shift * words) * Packed - shift + i % Packed;
    int32_t place = 0;
    dst_offset(job.dst_axes, 0, job.line_axes, p < 0 ? p + words * Packed : p, place);
    element_smem[i] = p < 0 ? place - job.piece_smem_stride : place;
  }
}

// 4. for word `word` of a line of narrow elements that is contiguous in dst, and that begins `shift` elements into its
// first word; `places` are those of the shift.
template <int WordBytes>
GPU_INLINE void write_packed(const box_job& job, const int32_t* places, unsigned char* start, int32_t line,
                             int32_t word, int32_t shift, int32_t elements) {
  constexpr int Packed = box_packed<WordBytes>;
  const int32_t first = word * Packed - shift;
  const auto piece = static_cast<int32_t>(job.piece.quotient(word));
  const auto group = *reinterpret_cast<const word_t<4 * Packed>*>(
      places + (word - piece * static_cast<int32_t>(job.piece.divisor)) * Packed);
  int32_t place[Packed] = {static_cast<int32_t>(group.x), static_cast<int32_t>(group.y)};
  if constexpr (Packed == 4) place[2] = static_cast<int32_t>(group.z), place[3] = static_cast<int32_t>(group.w);
  line += piece * job.piece_smem_stride;
  unsigned char* const to = start + int64_t{first} * WordBytes;
  if (first >= 0 && first + Packed <= elements) {
    uint32_t value = 0;
    GPU_UNROLL for (int k = 0; k < Packed; ++k) {
      value |= uint32_t{collect<WordBytes>(job, line + place[k])} << 8 * WordBytes * k;
    }
    return store_global(to, value);
  }
  GPU_UNROLL for (int k = 0; k < Packed; ++k) {
    if (first + k < 0 || first + k >= elements) continue;
    store_global(to + k * WordBytes, collect<WordBytes>(job, line + place[k]));
  }
}

// 4. Lines word by word. A warp spans several lines where one is short, or where that spares bank conflicts.
template <int WordBytes>
GPU_INLINE void write_lines(const box_job& job, const box_tables& at, unsigned char* dst, int32_t lines,
                            int32_t elements) {
  constexpr int Packed = box_packed<WordBytes>;
  const auto size = static_cast<int32_t>(job.piece.divisor);
  const int32_t all = tasks(lines, job.line_lanes, job.line_chunks);
  for (auto i = static_cast<int32_t>(thread_index() >> 5); i < all; i += box_threads / 32) {
    const task mine = find_task(i, job.line_lanes, job.line_chunks);
    if (mine.line >= lines) continue;
    unsigned char* const start = dst + at.line_dst[mine.line];
    const int32_t line = at.line_smem[mine.line];
    if constexpr (Packed > 1) {
      if (job.line_is_contiguous) {
        const auto shift = static_cast<int32_t>(reinterpret_cast<std::uint64_t>(start) & 3) / WordBytes;
        GPU_UNROLL for (int k = 0; k < box_steps; ++k) {
          const int32_t word = mine.word + k * mine.step;
          if (word * Packed - shift >= elements) continue;
          write_packed<WordBytes>(job, at.element_smem + shift * size * Packed, start, line, word, shift, elements);
        }
        continue;
      }
    }
    auto piece = static_cast<int32_t>(job.piece.quotient(mine.word));
    int32_t p = mine.word - piece * size;
    GPU_UNROLL for (int k = 0; k < box_steps; ++k) {
      const int32_t word = mine.word + k * mine.step;
      if (word >= elements) break;
      const int64_t offset =
          job.line_is_contiguous ? int64_t{word} * WordBytes : at.element_dst[p] + piece * job.piece_dst_stride;
      store_global(start + offset,
                   collect<WordBytes>(job, line + piece * job.piece_smem_stride + at.element_smem[p]));
      p += mine.step;  // a piece is no shorter than a step: see plan/box.cpp
      if (p >= size) p -= size, ++piece;
    }
  }
}

template <int WordBytes>
GPU_KERNEL(box_threads, 8)
box_kernel(GPU_PARAMETER box_job job) {
  const place here = find_place(job.blocks, job.src, job.dst);
  if (here.left[0] <= 0 || here.left[1] <= 0) return;
  const auto thread = static_cast<int32_t>(thread_index());
  const box_tables at = find_tables<WordBytes>(job);
  const int32_t runs = count(job, job.run_count, here);
  const int32_t run_elements = count(job, job.run_element_count, here);
  const int32_t lines = count(job, job.line_count, here);
  const int32_t line_elements = count(job, job.line_element_count, here);
  const unsigned char* src = here.src;  // of the lowest address of the box, on either side
  unsigned char* dst = here.dst;
  int32_t corner = 0;         // of the element at the lowest address of dst, in shared memory
  if (job.turned) {
    for (int32_t k = 0; k < job.src_rank; ++k) {
      const box_axis& axis = job.src_axes[k];
      const int32_t last = length(axis.slot, static_cast<int32_t>(axis.tile.divisor), here) - 1;
      if (axis.from_end != 0) src -= last * axis.src_stride_bytes;
    }
    for (int32_t k = 0; k < job.dst_rank; ++k) {
      const box_axis& axis = job.dst_axes[k];
      const int32_t last = length(axis.slot, static_cast<int32_t>(axis.tile.divisor), here) - 1;
      if (axis.from_end != 0) dst -= last * axis.dst_stride_bytes;
      if (axis.opposite != 0) corner -= last * axis.smem_stride;
    }
  }

  for (int32_t i = thread; i < runs; i += box_threads) {  // 1.
    at.run_src[i] = src_offset(job.src_axes, job.run_axes, job.src_rank, i);
  }
  if (!job.run_is_contiguous) {
    for (int32_t i = thread; i < run_elements; i += box_threads) {
      at.element_src[i] = src_offset(job.src_axes, 0, job.run_axes, i);
    }
  }
  block_barrier();                                          // orders the tables written in 1 before their reads in 2
  fetch_runs<WordBytes>(job, at, src, runs, run_elements);  // 2.

  for (int32_t i = thread; i < lines; i += box_threads) {  // 3.
    at.line_dst[i] = dst_offset(job.dst_axes, job.line_axes, job.dst_rank, i, at.line_smem[i]);
    at.line_smem[i] += corner;
  }
  if (box_packed<WordBytes> > 1 && job.line_is_contiguous) {
    fill_groups<WordBytes>(job, at.element_smem);
  } else {
    for (int32_t i = thread; i < static_cast<int32_t>(job.piece.divisor); i += box_threads) {
      const int64_t offset = dst_offset(job.dst_axes, 0, job.line_axes, i, at.element_smem[i]);
      if (!job.line_is_contiguous) at.element_dst[i] = offset;
    }
  }
  wait_for_copies();
  block_barrier();  // orders the words fetched in 2 and the tables written in 3 before their reads in 4
  write_lines<WordBytes>(job, at, dst, lines, line_elements);  // 4.
}

}  // namespace cornerturn::gpu
