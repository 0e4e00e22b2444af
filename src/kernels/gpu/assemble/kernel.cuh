// Assemble: any axes that are contiguous on both sides, at any address that is a multiple of one word. A box is a
// product of index ranges that fits shared memory: runs of src, and lines of dst. A granule is 16 aligned bytes of src, a
// chunk 16 aligned bytes of dst.
//   1. the granules that hold the runs are copied to shared memory unchanged. Each stride in shared memory is equal to
//      its stride in src modulo 16, so a byte has one offset however its run is misaligned.          (runs, granules)
//      A run has ascending addresses: an axis that descends in src begins with its last index.
//   2. Fused: tables have the offsets of runs, lines and elements. The tables of lines and elements are filled while the
//      copies are in flight
//   3. after a barrier each lane gathers the elements of one chunk, shifts them to the chunk's start and stores it whole
//
// Dst is stored in whole sectors of 32 bytes, or over a link to another GPU in whole lines of a cache: a line of a box begins at the
// last border at or before the box. The elements before the box, the halo, are loaded again. Parts of sectors are the ends of a run
// of dst, and of lines whose halo would be long.
#pragma once

#include "kernels/gpu/assemble/args.hpp"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

// The extents of this block's box, in indices of the two axes that the grid cuts.
struct box_extents {
  int32_t indices[2];  // with the halo
  int32_t halo_slot;
  int32_t halo;    // indices before the box; 0: lines are not cut
  int32_t absent;  // indices of the halo that do not exist, because the box is the first one
  bool last;       // no box begins in the last sector of a line

  GPU_INLINE explicit box_extents(const assemble_args& args, const tile_origin& here)
      : halo_slot(args.line_bytes.slot), halo(args.halo), absent(0), last(true) {
    GPU_UNROLL for (int slot = 0; slot < 2; ++slot) {
      const int32_t tile = args.blocks.tile[slot];
      indices[slot] = here.left[slot] < tile ? static_cast<int32_t>(here.left[slot]) : tile;
      if (slot != halo_slot) continue;
      last = halo == 0 || here.left[slot] <= tile;
      absent = here.left[slot] == args.blocks.extent[slot] ? halo : 0;
      indices[slot] += halo;
    }
  }
  GPU_INLINE int32_t of(const assemble_count& number) const {
    return number.slot < 0 ? number.each : number.each * (number.slot == 0 ? indices[0] : indices[1]);
  }
  // True when every line begins and ends with the box, at sectors.
  GPU_INLINE bool is_whole(const assemble_args& args) const {
    return halo > 0 && absent == 0 && !last && args.whole_groups > 0;
  }
  // Bytes of a run before its first index that exists.
  GPU_INLINE int32_t before_run(const assemble_args& args) const {
    return args.descending_run_bytes > 0 ? args.descending_run_bytes - of(args.run_bytes) : absent_of(args.run_bytes);
  }
  // `each` times the missing indices, if `number` counts them.
  GPU_INLINE int32_t absent_of(const assemble_count& number) const {
    return number.slot >= 0 && number.slot == halo_slot ? number.each * absent : 0;
  }
};

// The tables of a box in shared memory. A lane loads a window of the table of elements at once: the entries of Window elements, from
// any element on. Eight windows of single bytes, 16 elements apart, are in different banks.
template <int Window>
struct assemble_tables {
  int64_t* row_src;         // (rows)
  int64_t* line_dst;        // (lines)
  int32_t* row_smem;        // (rows)
  int32_t* line_smem;       // (lines)
  unsigned char* elements;  // (copies, elements of a piece and a chunk), two bytes each; copy c begins at element c
  int32_t copy_bytes;

  GPU_INLINE explicit assemble_tables(const assemble_args& args) : copy_bytes(args.element_copy_bytes) {
    elements = shared_memory() + args.tables;
    row_src = reinterpret_cast<int64_t*>(shared_memory() + args.row_tables);
    line_dst = row_src + args.most_rows;
    row_smem = reinterpret_cast<int32_t*>(line_dst + args.most_lines);
    line_smem = row_smem + args.most_rows;
  }
  GPU_INLINE static int32_t place(int32_t byte) { return Window == 8 ? byte ^ (byte >> 3 & 16) : byte; }
  // The window of element `first` + `later`. Requires  later is a multiple of Window
  GPU_INLINE unsigned char* window(int32_t first, int32_t later = 0) const {
    return elements + (first & Window - 1) * copy_bytes + place(((first & -Window) + later) * 2);
  }
  GPU_INLINE int32_t entry(int32_t element) const { return load_shared<std::uint16_t>(elements + place(element * 2)); }
};

// Splits `index` over the axes; the last one needs no division.
GPU_INLINE int64_t split_index(const assemble_axis* axes, int32_t rank, uint32_t index, int32_t& smem_offset) {
  int64_t offset = 0;
  smem_offset = 0;
  GPU_UNROLL_BY(1) for (int32_t k = 0; k < rank; ++k) {
    const uint32_t above = k == rank - 1 ? 0 : axes[k].count.quotient(index);
    const uint32_t mine = index - above * axes[k].count.divisor;
    offset += mine * axes[k].stride_bytes;
    smem_offset += static_cast<int32_t>(mine) * axes[k].smem_stride;
    index = above;
  }
  return offset;
}

// The place in shared memory of a byte of the box, or of two bytes whose offsets are halves of a word. Granules of 16 bytes
// change places within 128 bytes.
GPU_INLINE uint32_t swizzled(const assemble_args& args, uint32_t offsets) {
  return offsets ^ (offsets >> args.swizzle_shift & args.swizzle_mask);
}

// 2. The entries past a piece belong to the next one, or to elements that do not exist. A lane computes one entry, and has the others of
// its window from the next lanes.
template <int Window>
GPU_INLINE void fill_line_tables(const assemble_args& args, const assemble_tables<Window>& at, int32_t lines,
                                 int32_t spare_entries) {
  const auto thread = static_cast<int32_t>(thread_index());
  for (int32_t i = thread; i < lines; i += assemble_threads) {
    at.line_dst[i] = split_index(args.lines, args.line_rank, static_cast<uint32_t>(i), at.line_smem[i]);
  }
  constexpr int32_t Each = warp_lanes - Window + 1;  // windows of a warp
  const int32_t windows = static_cast<int32_t>(args.piece.divisor) + spare_entries, lane = thread % warp_lanes;
  for (int32_t first = thread / warp_lanes * Each; first < windows; first += assemble_threads / warp_lanes * Each) {
    int32_t smem_offset = 0;
    split_index(args.elements, args.element_rank, static_cast<uint32_t>(first + lane), smem_offset);
    uint32_t entry[Window] = {static_cast<uint32_t>(smem_offset + args.entry_bias)}, two[Window / 2];
    GPU_UNROLL for (int k = 1; k < Window; ++k) entry[k] = value_of_next_lane(entry[k - 1]);
    GPU_UNROLL for (int k = 0; k < Window / 2; ++k) two[k] = byte_permute(entry[2 * k], entry[2 * k + 1], 0x5410);
    if (lane >= Each || first + lane >= windows) continue;
    auto* const to = reinterpret_cast<word_t<Window * 2>*>(at.window(first + lane));
    if constexpr (Window == 8) {
      *to = {two[0], two[1], two[2], two[3]};
    } else {
      *to = {two[0], two[1]};
    }
  }
}

// 1. Copies a granule, and asks L2 for its line if other granules want the rest.
GPU_INLINE void fetch_granule(const assemble_args& args, unsigned char* to, const unsigned char* from) {
  if (args.whole_lines) {
    start_line_copy(to, from);
  } else {
    start_copy<16>(to, from);
  }
}

// 1. Copies a granule; bytes outside [begin, end) are not read.
GPU_INLINE void fetch_cut_granule(const assemble_args& args, unsigned char* to, const unsigned char* from) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  if (address >= args.arrays.src_begin && address + 16 <= args.arrays.src_end) return fetch_granule(args, to, from);
  GPU_UNROLL_BY(1) for (int k = 0; k < 16; ++k) {
    to[k] = address + k >= args.arrays.src_begin && address + k < args.arrays.src_end ? from[k] : 0;
  }
}

// 1. `first` is the address of the origin, `phase` its misalignment. So many spare bytes after each run are copied, too. Inside:
// every granule is within [begin, end).
template <bool Fused, bool Swizzled, bool Inside, class Tables>
GPU_INLINE void fetch_box(const assemble_args& args, const Tables& tables, const box_extents& box,
                          const unsigned char* first, int32_t phase, int32_t spare_bytes) {
  const auto thread = static_cast<int32_t>(thread_index());
  const auto threads = static_cast<int32_t>(args.granule_threads.divisor);
  const auto first_row = static_cast<int32_t>(args.granule_threads.quotient(thread));
  const int32_t before = box.before_run(args), rows = box.of(args.row_count);
  // A run needs the granule at byte `at` from its first granule on if at < shift + bytes, its misalignment included.
  const int32_t first_at = (thread - first_row * threads) * 16;
  const int32_t bytes = box.of(args.run_bytes) - box.absent_of(args.run_bytes) + spare_bytes;
  if (first_row >= args.rows_at_once) return;
  int32_t row = box.absent_of(args.row_count) + first_row;
  const unsigned char* from = first + before + row * args.rows[0].stride_bytes;
  int32_t smem_offset = phase + before + row * args.rows[0].smem_stride;
  for (; row < rows; row += args.rows_at_once) {
    if constexpr (Fused) {
      from = first + before + tables.row_src[row];
      smem_offset = phase + before + tables.row_smem[row];
    }
    const auto shift = static_cast<int32_t>(low_word(from) & 15);
    for (int32_t at = first_at; at < shift + bytes; at += threads * 16) {
      auto offset = static_cast<uint32_t>(smem_offset - shift + at);
      if constexpr (Swizzled) offset = swizzled(args, offset);
      unsigned char* const to = shared_memory() + offset;
      if constexpr (Inside) {
        fetch_granule(args, to, from - shift + at);
      } else {
        fetch_cut_granule(args, to, from - shift + at);
      }
    }
    if constexpr (!Fused) {
      from += args.rows_at_once * args.rows[0].stride_bytes;
      smem_offset += args.rows_at_once * args.rows[0].smem_stride;
    }
  }
}

// 3. The turn of lanes that load their elements in order: see assemble_args.
using in_order = std::integral_constant<uint32_t, 0>;

// 3. One chunk of a line, in bytes counted from the first element of the halo.
struct assemble_chunk {
  int32_t smem_offset;  // of the line's first element
  int32_t start;        // negative: before the line
};

// 3. The part of a line that this box stores, in bytes counted from the first element of the halo: [first, last). Whole: it
// begins and ends at sectors.
template <bool Whole>
struct stored_line {
  unsigned char* to;
  int32_t smem_offset, first, last;

  // Bytes from the border at or before byte `at` to this byte.
  GPU_INLINE int32_t in_sector(const assemble_args& args, int32_t at) const {
    return static_cast<int32_t>(low_word(to + at) & static_cast<uint32_t>(args.store_bytes - 1));
  }
  template <bool Fused, class Tables>
  GPU_INLINE stored_line(const assemble_args& args, const Tables& tables, const box_extents& box, unsigned char* dst,
                         int32_t first_offset, int32_t line, std::bool_constant<Fused>)
      : to(dst + (Fused ? tables.line_dst[line] : line * args.lines[0].stride_bytes)),
        smem_offset(first_offset + (Fused ? tables.line_smem[line] : line * args.lines[0].smem_stride)),
        first(args.line_bytes.each * box.halo),
        last(box.of(args.line_bytes)) {
    const int32_t first_sector = first - in_sector(args, first);
    if (Whole || (box.absent == 0 && box.halo > 0)) first = first_sector;
    if (Whole || !box.last) last -= in_sector(args, last);
  }
  // Bytes from the chunk that holds byte `at` to this byte.
  GPU_INLINE int32_t in_chunk(int32_t at) const { return static_cast<int32_t>(low_word(to + at) & 15); }
};

// 3. Calls gather.get(chunk) for each chunk of the box's lines, and stores the word that it returns: get<true> for chunks
// that are stored whole. The parts of chunks at the ends of lines follow, so that all lanes of a warp store parts at once.
template <int WordBytes, bool Fused, bool Whole, class Tables, class Gather>
GPU_INLINE void write_lines(const assemble_args& args, const Tables& tables, const box_extents& box, unsigned char* dst,
                            int32_t first_offset, const Gather& gather) {
  using line_type = stored_line<Whole>;
  constexpr std::bool_constant<Fused> fused{};
  const int32_t lines = box.of(args.line_count);
  const auto lane = static_cast<int32_t>(thread_index() % warp_lanes);
  const auto warp = static_cast<int32_t>(thread_index() / warp_lanes);
  const int32_t first_chunk =
      ((warp & (1 << args.stack_warps) - 1) << args.line_lanes) + (lane & (1 << args.line_lanes) - 1);
  const int32_t step = 16 << args.line_lanes + args.stack_warps;
  const int32_t line_step = assemble_threads >> args.line_lanes + args.stack_warps;
  int32_t line = (warp >> args.stack_warps << warp_lanes_log2 - args.line_lanes) + (lane >> args.line_lanes);
  for (; line < lines; line += line_step) {
    const line_type here(args, tables, box, dst, first_offset, line, fused);
    int32_t start = here.first, stop = here.last;
    if constexpr (!Whole) start += -here.in_chunk(start) & 15, stop -= here.in_chunk(stop);
    for (start += first_chunk * 16; start < stop; start += step) {
      store_global(here.to + start, gather.template get<true>(assemble_chunk{here.smem_offset, start}));
    }
  }
  if constexpr (Whole) return;
  for (auto i = static_cast<int32_t>(thread_index()); i < 2 * lines; i += assemble_threads) {
    const bool is_end = i >= lines;
    const line_type here(args, tables, box, dst, first_offset, is_end ? i - lines : i, fused);
    const int32_t at = is_end ? here.last : here.first, start = at - here.in_chunk(at);
    // A line within one chunk is stored by the lane of its beginning.
    if (start == at || here.first >= here.last || (is_end && start < here.first)) continue;
    store_bytes<WordBytes>(here.to + start, gather.template get<false>(assemble_chunk{here.smem_offset, start}),
                           here.first - start, here.last - start);
  }
}

// 1. `src` is the address of the origin.
template <bool Fused, bool Swizzled, class Tables>
GPU_INLINE void fetch_rows(const assemble_args& args, const Tables& tables, const box_extents& box,
                           const unsigned char* src, int32_t phase, int32_t spare_bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(src);
  if (address + args.span_begin >= args.arrays.src_begin + 15 &&
      address + args.span_end + 15 + spare_bytes <= args.arrays.src_end) {
    fetch_box<Fused, Swizzled, true>(args, tables, box, src, phase, spare_bytes);
  } else {
    fetch_box<Fused, Swizzled, false>(args, tables, box, src, phase, spare_bytes);
  }
}

// The phases of a block. Elements is words_of_lines of words.cuh or runs_of_lines of runs.cuh.
template <class Elements>
GPU_INLINE void assemble_box(const assemble_args& args, uint32_t number) {
  constexpr bool Fused = Elements::fused;
  const tile_origin here = find_origin(args.blocks, args.arrays.src, args.arrays.dst, number);
  if (here.left[0] <= 0 || here.left[1] <= 0) return;  // past the end of the last band
  const box_extents box(args, here);
  const assemble_tables<Elements::window> tables(args);
  if constexpr (Fused) {  // 1.
    for (auto i = static_cast<int32_t>(thread_index()); i < args.most_rows; i += assemble_threads) {
      tables.row_src[i] = split_index(args.rows, args.row_rank, static_cast<uint32_t>(i), tables.row_smem[i]);
    }
    block_barrier();  // orders the writes of the table of rows before their reads
  }
  wait_for_earlier_launches();
  const unsigned char* const src = here.src - args.src_to_origin;
  const auto phase = static_cast<int32_t>(low_word(src) & 15);
  fetch_rows<Fused, Elements::swizzled>(args, tables, box, src, phase, Elements::spare_bytes);            // 1.
  if constexpr (Fused) fill_line_tables(args, tables, box.of(args.line_count), Elements::spare_entries);  // 2.
  wait_for_copies();
  block_barrier();  // orders the granules copied in 1 and the tables written in 2 before their reads in 3
  unsigned char* const dst = here.dst - args.line_bytes.each * box.halo;
  const int32_t first = phase + args.smem_first - args.entry_bias;
  const auto write_all = [&](auto swizzles, auto turn) {  // 3.
    const typename Elements::template gather<swizzles, decltype(turn)> gather(args, tables, box, turn);
    if (box.is_whole(args)) {
      write_lines<Elements::word_bytes, Fused, true>(args, tables, box, dst, first, gather);
    } else {
      write_lines<Elements::word_bytes, Fused, false>(args, tables, box, dst, first, gather);
    }
  };
  const auto write = [&](auto turn) {
    if constexpr (Elements::swizzled) {
      if (args.swizzle_mask != 0) return write_all(std::true_type{}, turn);
    }
    write_all(std::false_type{}, turn);
  };
  if constexpr (Elements::turned) {
    if (args.turn_mask != 0) {
      return write(thread_index() % warp_lanes * 4 >> args.turn_shift & static_cast<uint32_t>(args.turn_mask));
    }
  }
  write(in_order{});
}

}  // namespace cornerturn::gpu
