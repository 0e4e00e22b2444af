// Pixels: matrices of 3-byte elements, whose extents and addresses are multiples of 4.
//   1. 64 rows of 64 pixels are copied to shared memory, word by word                   (rows, 48 words)
//   2. after a barrier each thread loads 4 x 4 pixels, three words a row, and transposes them in registers
//   3. after a barrier it stores three words of each of four columns to shared memory   (columns, 48 words)
//   4. after a barrier the columns are stored word by word
// The pitch of a line is 52 words: 16 blocks along a row use banks 0, 3, 6, ..., and 16 blocks four rows further down
// use the banks between.
#pragma once

#include "kernels/gpu/pixel/args.hpp"
#include "kernels/gpu/policy/grid.cuh"

namespace cornerturn::gpu {

inline constexpr int pixel_side = 64;      // pixels
inline constexpr int pixel_threads = 256;  // one for each 4 x 4 of them
inline constexpr int pixel_words = 48;     // of a side
inline constexpr int pixel_pitch = 52;

template <std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
pixel_kernel(GPU_PARAMETER tile_args args) {
  static_assert(threads_of(Limits) == pixel_threads);
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  auto* const tile = reinterpret_cast<uint32_t*>(shared_memory());
  const auto thread = static_cast<int>(thread_index());
  const int32_t cols = static_cast<int32_t>(here.left[0] < pixel_side ? here.left[0] : pixel_side);
  const int32_t rows = static_cast<int32_t>(here.left[1] < pixel_side ? here.left[1] : pixel_side);
  // Two warps walk a line, half of the second one idle. So no word needs a division by 48.
  constexpr int Lines = pixel_threads / 64;
  const int line = thread / 64, word = thread % 64;

  const unsigned char* from = here.src + line * args.src_row_bytes + word * 4;
  GPU_UNROLL for (int row = 0; row < pixel_side; row += Lines) {  // 1.
    if (row + line < rows && word * 4 < cols * 3) start_copy<4>(tile + (row + line) * pixel_pitch + word, from);
    from += Lines * args.src_row_bytes;
  }
  wait_for_copies();
  block_barrier();  // orders the words copied in 1 before their reads in 2
  const int across = thread % 16, down = thread / 16;
  uint32_t transposed[4][3];  //                                                              (4 columns, 12 bytes)
  if (across * 4 < cols && down * 4 < rows) {
    uint32_t pixel[4][4];  //                                                             (4 rows, 4 pixels)
    GPU_UNROLL for (int k = 0; k < 4; ++k) {  // 2.
      const uint32_t* const words = tile + (down * 4 + k) * pixel_pitch + across * 3;
      const uint32_t first = words[0], second = words[1], third = words[2];
      pixel[k][0] = first;
      pixel[k][1] = funnel_shift_right(first, second, 24);
      pixel[k][2] = funnel_shift_right(second, third, 16);
      pixel[k][3] = third >> 8;
    }
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      transposed[k][0] = byte_permute(pixel[0][k], pixel[1][k], 0x4210);
      transposed[k][1] = byte_permute(pixel[1][k], pixel[2][k], 0x5421);
      transposed[k][2] = byte_permute(pixel[2][k], pixel[3][k], 0x6542);
    }
  }
  block_barrier();  // orders the reads of the rows in 2 before the writes of the columns in 3
  if (across * 4 < cols && down * 4 < rows) {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {  // 3.
      uint32_t* const column = tile + (across * 4 + k) * pixel_pitch + down * 3;
      GPU_UNROLL for (int i = 0; i < 3; ++i) column[i] = transposed[k][i];
    }
  }
  block_barrier();  // orders the words stored in 3 before their reads in 4
  unsigned char* to = here.dst + line * args.dst_col_bytes + word * 4;
  GPU_UNROLL for (int col = 0; col < pixel_side; col += Lines) {  // 4.
    if (col + line < cols && word * 4 < rows * 3) store_global(to, tile[(col + line) * pixel_pitch + word]);
    to += Lines * args.dst_col_bytes;
  }
}

}  // namespace cornerturn::gpu
