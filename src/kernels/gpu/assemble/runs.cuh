// Assemble runs: phase 3 of kernel.cuh for elements of at least 16 bytes that are contiguous on both sides. A chunk is in
// one element, or in two neighbours.
#pragma once

#include "kernels/gpu/assemble/kernel.cuh"

namespace cornerturn::gpu {

struct two_words {
  word_t<16> low, high;
};

// 3. Bytes [shift, shift + 16) of two words.
GPU_INLINE void shift_words(uint32_t (&made)[4], const two_words& from, uint32_t shift) {
  uint32_t all[8] = {from.low.x,  from.low.y,  from.low.z,  from.low.w,
                     from.high.x, from.high.y, from.high.z, from.high.w};
  GPU_UNROLL for (int k = 0; k < 7; ++k) all[k] = (shift & 4) != 0 ? all[k + 1] : all[k];
  GPU_UNROLL for (int k = 0; k < 5; ++k) all[k] = (shift & 8) != 0 ? all[k + 2] : all[k];
  GPU_UNROLL for (int k = 0; k < 4; ++k) made[k] = funnel_shift_right(all[k], all[k + 1], (shift & 3) * 8);
}

// 3. The bits of the lowest `bytes` bytes.
GPU_INLINE uint32_t low_mask(int32_t bytes) { return bytes <= 0 ? 0 : bytes >= 4 ? ~0u : (1u << 8 * bytes) - 1; }

// 3. The aligned words of shared memory that hold the 16 bytes at `offset`. Words outside the element, which is
// [begin, end), are not loaded.
GPU_INLINE two_words load_around(int32_t offset, int32_t begin, int32_t end) {
  const int32_t aligned = offset & ~15;
  two_words made{};
  if (aligned + 16 > begin) made.low = load_shared<word_t<16>>(shared_memory() + aligned);
  if (aligned + 16 < end && offset != aligned) made.high = load_shared<word_t<16>>(shared_memory() + aligned + 16);
  return made;
}

struct runs_of_chunk {
  const assemble_args& args;
  const assemble_tables<4>& tables;
  int32_t absent;    // bytes
  int32_t elements;  // of a line
  int32_t bytes;     // of an element

  GPU_INLINE runs_of_chunk(const assemble_args& all, const assemble_tables<4>& at, const box_extents& box, in_order)
      : args(all), tables(at), absent(0), elements(1), bytes(box.of(all.line_bytes)) {
    if (all.element.divisor > 0) {
      elements = static_cast<int32_t>(all.element.quotient(bytes));
      bytes = static_cast<int32_t>(all.element.divisor);
    } else {
      absent = box.absent_of(all.line_bytes);  // the grid cuts the element
    }
  }
  GPU_INLINE int32_t offset_of(int32_t element) const {
    const auto piece = static_cast<int32_t>(args.piece.quotient(element));
    return piece * args.piece_smem_stride + tables.entry(element - piece * static_cast<int32_t>(args.piece.divisor));
  }
  template <bool Inside>
  GPU_INLINE word_t<16> get(const assemble_chunk& chunk) const {
    const int32_t element =
        elements == 1 || chunk.start < 0 ? 0 : static_cast<int32_t>(args.element.quotient(chunk.start));
    const int32_t in_element = chunk.start - element * bytes, until_end = bytes - in_element;
    const int32_t begin = chunk.smem_offset + offset_of(element), from = begin + in_element;
    uint32_t words[4];
    shift_words(words, load_around(from, begin + absent, begin + bytes), from & 15);
    if (until_end < 16 && element + 1 < elements) {
      const int32_t next = chunk.smem_offset + offset_of(element + 1), after = next - until_end;
      uint32_t others[4];
      shift_words(others, load_around(after, next, next + bytes), after & 15);
      GPU_UNROLL for (int k = 0; k < 4; ++k) {
        const uint32_t mine = low_mask(until_end - 4 * k);
        words[k] = (words[k] & mine) | (others[k] & ~mine);
      }
    }
    return {words[0], words[1], words[2], words[3]};
  }
};

// The elements of lines are runs.
struct runs_of_lines {
  static constexpr int word_bytes = 1;
  static constexpr int window = 4;
  static constexpr bool fused = true;
  static constexpr bool swizzled = false;
  static constexpr bool turned = false;
  static constexpr int spare_entries = 0;
  static constexpr int spare_bytes = 0;
  template <bool, class>
  using gather = runs_of_chunk;
};

template <std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
assemble_runs_kernel(GPU_PARAMETER assemble_args args) {
  static_assert(threads_of(Limits) == assemble_threads);
  assemble_box<runs_of_lines>(args, block_index());
}

}  // namespace cornerturn::gpu
