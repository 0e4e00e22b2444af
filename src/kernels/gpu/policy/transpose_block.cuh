// Transposes a V x V block of elements in registers; each row has 16 bytes. Elements of four bytes or more only change
// their registers' names, which is free. Two-byte elements take one byte permutation for each 32-bit word, one-byte
// elements two.
#pragma once

namespace cornerturn::gpu {

template <int V>
struct register_block {
  uint32_t row[V][4];
};

template <int WordBytes>
GPU_INLINE void transpose_block(register_block<16 / WordBytes>& block) {
  constexpr int V = 16 / WordBytes;
  const register_block<V> in = block;
  if constexpr (WordBytes == 8) {
    block.row[0][2] = in.row[1][0], block.row[0][3] = in.row[1][1];
    block.row[1][0] = in.row[0][2], block.row[1][1] = in.row[0][3];
  } else if constexpr (WordBytes == 4) {
    GPU_UNROLL for (int c = 0; c < 4; ++c) { GPU_UNROLL for (int r = 0; r < 4; ++r) block.row[c][r] = in.row[r][c]; }
  } else if constexpr (WordBytes == 2) {
    GPU_UNROLL for (int c = 0; c < 8; ++c) {
      GPU_UNROLL for (int k = 0; k < 4; ++k) {  // rows 2k and 2k + 1 of column c
        block.row[c][k] = byte_permute(in.row[2 * k][c / 2], in.row[2 * k + 1][c / 2], c % 2 == 0 ? 0x5410 : 0x7632);
      }
    }
  } else if constexpr (WordBytes == 1) {
    GPU_UNROLL for (int m = 0; m < 4; ++m) {
      GPU_UNROLL for (int k = 0; k < 4; ++k) {  // rows 4k .. 4k + 3 of columns 4m .. 4m + 3
        const uint32_t a = in.row[4 * k][m], b = in.row[4 * k + 1][m];
        const uint32_t c = in.row[4 * k + 2][m], d = in.row[4 * k + 3][m];
        const uint32_t ab_low = byte_permute(a, b, 0x5140), ab_high = byte_permute(a, b, 0x7362);  // a0 b0 a1 b1
        const uint32_t cd_low = byte_permute(c, d, 0x5140), cd_high = byte_permute(c, d, 0x7362);
        block.row[4 * m][k] = byte_permute(ab_low, cd_low, 0x5410);
        block.row[4 * m + 1][k] = byte_permute(ab_low, cd_low, 0x7632);
        block.row[4 * m + 2][k] = byte_permute(ab_high, cd_high, 0x5410);
        block.row[4 * m + 3][k] = byte_permute(ab_high, cd_high, 0x7632);
      }
    }
  }
}

}  // namespace cornerturn::gpu
