// The host's words for ladder/tensor.cuh: a box is copied and swizzled by one thread.
#pragma once

#include <cstdint>

#include "ladder/rung.hpp"

#define GPU_TENSOR

namespace cornerturn::gpu {

struct tensor {
  unsigned char* matrix = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int word_bytes = 1;
};

// Calls move(address in shared memory, address in the matrix, word_bytes) for each word of the box. The second address
// is null outside of the matrix. A row of the box has 128 bytes; the chunk of 16 is XORed with the row, modulo 8.
template <class Move>
void walk_box(const tensor& map, int first_col, int first_row, int rows, const Move& move) {
  for (int row = 0; row < rows; ++row) {
    for (int byte = 0; byte < 128; byte += map.word_bytes) {
      const std::int64_t r = first_row + row, c = first_col + byte / map.word_bytes;
      const bool inside = r < map.rows && c < map.cols;
      const int chunk = byte / 16 ^ row % 8;
      move(row * 128 + chunk * 16 + byte % 16, inside ? map.matrix + (r * map.cols + c) * map.word_bytes : nullptr);
    }
  }
}

inline void fetch_box(void* shared, const tensor& from, int col, int row, void* barrier, int bytes) {
  if (thread_index() == 0) {
    static_cast<void>(barrier);
    walk_box(from, col, row, bytes / 128, [&](int place, const unsigned char* word) {
      emulated::bring_word(static_cast<unsigned char*>(shared) + place, word, from.word_bytes);
    });
  }
  block_barrier();
}

inline void send_box(const tensor& to, int col, int row, const void* shared) {
  block_barrier();
  if (thread_index() != 0) return;
  walk_box(to, col, row, 128 / to.word_bytes, [&](int place, unsigned char* word) {
    if (word != nullptr) emulated::send_word(word, static_cast<const unsigned char*>(shared) + place, to.word_bytes);
  });
}

}  // namespace cornerturn::gpu

namespace cornerturn::ladder {

struct tensor_arguments : arguments {
  gpu::tensor src_tensor;
  gpu::tensor dst_tensor;
};

}  // namespace cornerturn::ladder
