// Code that the kernels share: a block's part of the two matrices, and pieces of `width` elements.
// Include a language header before it, as for every kernel text: kernels/cuda/lang.cuh or the emulator's header.
#pragma once

#include "rung.hpp"

namespace cornerturn::ladder {

using gpu::int64_t;
using gpu::word_t;

// A tile of src and its transpose in dst. Checked: the tile may extend beyond the edge of the matrix.
template <class Rung, bool Checked = true>
struct part {
  using word = word_t<Rung::word_bytes>;
  const word* src;  // first element of the tile
  word* dst;        // address of that element in dst
  unsigned char* shared;
  int64_t src_ld;
  int64_t dst_ld;
  int rows;  // inside the matrix, at most Rung::tile_rows
  int cols;
  bool src_in_pieces;  // rows of src are a whole number of pieces, so every piece is aligned
  bool dst_in_pieces;

  GPU_INLINE bool inside(at e) const { return !Checked || (e.row < rows && e.col < cols); }
  // A tile has at most 128 rows, but their offset may need 64 bits.
  GPU_INLINE const word* from(at e) const { return src + e.row * src_ld + e.col; }
  GPU_INLINE word* to(at e) const { return dst + e.col * dst_ld + e.row; }
  GPU_INLINE word& shared_word(at e) const { return *reinterpret_cast<word*>(shared + Rung::place(e)); }
};

template <class Rung, bool Checked = true>
GPU_INLINE part<Rung, Checked> part_of(const arguments& a, tile which) {
  using word = word_t<Rung::word_bytes>;
  const int64_t row = int64_t{which.down} * Rung::tile_rows;
  const int64_t col = int64_t{which.across} * Rung::tile_cols;
  const int64_t matrix = which.matrix * a.rows * a.cols;
  part<Rung, Checked> p;
  p.src = reinterpret_cast<const word*>(a.src) + matrix + row * a.cols + col;
  p.dst = reinterpret_cast<word*>(a.dst) + matrix + col * a.rows + row;
  p.shared = gpu::shared_memory();
  p.src_ld = a.cols;
  p.dst_ld = a.rows;
  p.rows = static_cast<int>(a.rows - row < Rung::tile_rows ? a.rows - row : Rung::tile_rows);
  p.cols = static_cast<int>(a.cols - col < Rung::tile_cols ? a.cols - col : Rung::tile_cols);
  p.src_in_pieces = a.cols % Rung::width == 0;
  p.dst_in_pieces = a.rows % Rung::width == 0;
  return p;
}

// __builtin_memcpy, because memcpy of HIP's headers is a loop over bytes.
template <class Rung>
struct piece {  // `width` elements in registers
  word_t<Rung::word_bytes> word[Rung::width];
};

template <class Rung>
using piece_word = word_t<Rung::width * Rung::word_bytes>;

template <class Rung>
GPU_INLINE piece<Rung> load_piece(const void* from) {
  const auto together = gpu::load_global<piece_word<Rung>>(from);
  piece<Rung> loaded;
  __builtin_memcpy(static_cast<void*>(&loaded), &together, sizeof together);
  return loaded;
}
template <class Rung>
GPU_INLINE piece_word<Rung> joined(const piece<Rung>& value) {
  piece_word<Rung> together;
  __builtin_memcpy(static_cast<void*>(&together), &value, sizeof together);
  return together;
}
template <class Rung>
GPU_INLINE void store_piece(void* to, const piece<Rung>& value) {
  if constexpr (Rung::width == 1) {
    *static_cast<piece_word<Rung>*>(to) = value.word[0];
  } else {  // nvcc 13.0 splits a plain store of assembled elements into element stores
    gpu::store_global(to, joined<Rung>(value));
  }
}

// 1. Loads `Steps` pieces per thread, from step `first` on, and stores them into the tile. All loads are in flight
//    before the first piece is used.
// 2. The caller's barrier.
template <class Rung, bool Checked, int Steps = Rung::steps>
GPU_INLINE void rows_in(const part<Rung, Checked>& p, int first = 0) {
  const int thread = static_cast<int>(gpu::thread_index());
  piece<Rung> held[Steps];
  GPU_UNROLL
  for (int step = 0; step < Steps; ++step) {
    const at e = Rung::read(thread, first + step);
    if (p.src_in_pieces) {
      if (p.inside(e)) held[step] = load_piece<Rung>(p.from(e));
    } else {
      GPU_UNROLL
      for (int i = 0; i < Rung::width; ++i) {
        if (p.inside({e.row, e.col + i})) held[step].word[i] = *p.from({e.row, e.col + i});
      }
    }
  }
  GPU_UNROLL
  for (int step = 0; step < Steps; ++step) {
    const at e = Rung::read(thread, first + step);
    if (Rung::whole_pieces && p.src_in_pieces) {
      if (p.inside(e)) gpu::store_shared(&p.shared_word(e), joined<Rung>(held[step]));
    } else {
      GPU_UNROLL
      for (int i = 0; i < Rung::width; ++i) {
        if (p.inside({e.row, e.col + i})) p.shared_word({e.row, e.col + i}) = held[step].word[i];
      }
    }
  }
}

// 3. Loads `Steps` pieces of columns from the tile and stores them as rows of dst. All loads are in flight before the
//    first store.
template <class Rung, bool Checked, int Steps = Rung::steps>
GPU_INLINE void columns_out(const part<Rung, Checked>& p, int first = 0) {
  const int thread = static_cast<int>(gpu::thread_index());
  piece<Rung> held[Steps];
  GPU_UNROLL
  for (int step = 0; step < Steps; ++step) {
    const at e = Rung::write(thread, first + step);
    GPU_UNROLL
    for (int i = 0; i < Rung::width; ++i) {
      if (p.inside({e.row + i, e.col})) held[step].word[i] = p.shared_word({e.row + i, e.col});
    }
  }
  GPU_UNROLL
  for (int step = 0; step < Steps; ++step) {
    const at e = Rung::write(thread, first + step);
    if (p.dst_in_pieces) {
      if (p.inside(e)) store_piece<Rung>(p.to(e), held[step]);
    } else {
      GPU_UNROLL
      for (int i = 0; i < Rung::width; ++i) {
        if (p.inside({e.row + i, e.col})) *p.to({e.row + i, e.col}) = held[step].word[i];
      }
    }
  }
}

}  // namespace cornerturn::ladder
