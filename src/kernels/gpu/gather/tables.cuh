// The address tables of a gather box: its runs and lines, in memory and in shared memory.
#pragma once

#include "kernels/gpu/gather/args.hpp"
#include "kernels/gpu/policy/grid.cuh"

namespace cornerturn::gpu {

inline constexpr int gather_threads = 256;

struct gather_tables {
  int64_t* run_src;       // (runs)
  int64_t* element_src;   // (run_elements), only when a run is not contiguous
  int64_t* line_dst;      // (lines)
  int64_t* element_dst;   // (elements of a piece), only when a line is not contiguous
  int32_t* element_smem;  // (elements of a piece), or (shifts, words of a piece, elements of a word)
  int32_t* line_smem;     // (lines)
};

GPU_INLINE gather_tables find_tables(const gather_args& args) {
  gather_tables at;
  at.element_smem = reinterpret_cast<int32_t*>(shared_memory() + args.tables);
  at.run_src = reinterpret_cast<int64_t*>(at.element_smem + args.smem_entries);
  at.element_src = at.run_src + args.runs;
  at.line_dst = at.element_src + (args.run_is_contiguous ? 0 : args.run_elements);
  at.element_dst = at.line_dst + args.lines;
  at.line_smem = reinterpret_cast<int32_t*>(at.element_dst + (args.line_is_contiguous ? 0 : args.piece.divisor));
  return at;
}

// No byte outside the addresses [begin, end) is read.
struct src_bounds {
  std::uint64_t begin, end;
};

GPU_INLINE int32_t length(int32_t slot, int32_t tile, const tile_origin& here) {
  if (slot < 0) return tile;
  const int64_t left = slot == 0 ? here.left[0] : here.left[1];
  return left < tile ? static_cast<int32_t>(left) : tile;
}

GPU_INLINE int32_t count(const gather_args& args, gather_count number, const tile_origin& here) {
  return number.slot < 0 ? number.each : number.each * length(number.slot, args.blocks.tile[number.slot], here);
}

GPU_INLINE int64_t src_offset(const gather_axis* axes, int32_t first, int32_t last, int32_t index) {
  int64_t offset = 0;
  for (int32_t k = first; k < last; ++k) {
    const auto above = static_cast<int32_t>(axes[k].tile.quotient(index));
    offset += (index - above * static_cast<int32_t>(axes[k].tile.divisor)) * axes[k].src_stride_bytes;
    index = above;
  }
  return offset;
}

// Returns the dst offset of an index over the axes [first, last), and sets its shared-memory offset. smem_stride is
//         negative
// for an axis that is reversed between src and dst.
GPU_INLINE int64_t dst_offset(const gather_axis* axes, int32_t first, int32_t last, int32_t index,
                              int32_t& smem_offset) {
  int64_t offset = 0;
  smem_offset = 0;
  for (int32_t k = first; k < last; ++k) {
    const gather_axis& axis = axes[k];
    const auto above = static_cast<int32_t>(axis.tile.quotient(index));
    const int32_t mine = index - above * static_cast<int32_t>(axis.tile.divisor);
    offset += mine * axis.dst_stride_bytes;
    smem_offset += mine * axis.smem_stride;
    index = above;
  }
  return offset;
}

// A shared-memory offset with its skew. Narrow elements are never skewed: see choose_pitch() in cut.cpp.
template <int WordBytes>
GPU_INLINE int32_t skewed(const gather_args& args, int32_t smem_offset) {
  return WordBytes < 4 ? smem_offset : smem_offset + (smem_offset >> 7) * args.skew;
}

}  // namespace cornerturn::gpu
