// Arithmetic with the register-block tile of tile/kernel.cuh: elements of SrcBytes become elements of DstBytes.
//   1. each thread loads V x V blocks of src as chunks of 16 bytes. It computes and stores a second destination in the
//      order of src from them
//   2. it transposes the blocks and stores them to shared memory as tile/kernel.cuh does, not yet converted
//   3. it loads its part of a second source, or of dst, so that these loads overlap with phase 1 of other blocks
//   4. after a barrier it loads units of a column, computes and stores them. A unit is 16 bytes of the wider elements,
//      so a warp stores runs of 128 bytes or more. It stores the units to a second destination in the order of dst, too
// A tile at an edge takes the same path; only the unit that the edge cuts is copied by elements.
#pragma once

#include "kernels/gpu/apply/arithmetic.cuh"
#include "kernels/gpu/policy/chunk.cuh"
#include "kernels/gpu/policy/transpose_block.cuh"
#include "map/tile.hpp"

namespace cornerturn::gpu {

struct apply_origin {
  const unsigned char* src;
  unsigned char* dst;
  unsigned char* second;
  int64_t left[3];  // <= 0: the block is past the end
};

GPU_INLINE apply_origin find_origin(const apply_args& args) {
  int64_t src = 0, dst = 0, second = 0;
  uint32_t rest = block_index(), tiles[3] = {0, 0, 0};
  for (int32_t k = 0; k < args.blocks.rank; ++k) {
    const apply_axis& axis = args.blocks.axes[k];
    const uint32_t above = axis.count.quotient(rest);
    const uint32_t index = rest - above * axis.count.divisor;
    rest = above;
    src += index * axis.src_step_bytes;
    dst += index * axis.dst_step_bytes;
    second += index * axis.second_step_bytes;
    GPU_UNROLL for (int s = 0; s < 3; ++s) tiles[s] += index * axis.tiles[s];
  }
  apply_origin found{static_cast<const unsigned char*>(args.src) + src,
                     static_cast<unsigned char*>(args.dst) + dst,
                     static_cast<unsigned char*>(args.second) + second,
                     {}};
  GPU_UNROLL for (int s = 0; s < 3; ++s) {
    found.left[s] = args.blocks.extent[s] - int64_t{tiles[s]} * args.blocks.tile[s];
  }
  return found;
}

template <int SrcBytes, int DstBytes, int Side>
struct apply_map : map::tile_map<SrcBytes, Side> {
  using tile = map::tile_map<SrcBytes, Side>;
  static constexpr int unit = SrcBytes > DstBytes ? 16 / SrcBytes : 16 / DstBytes;  // elements
  static constexpr int units = tile::v / unit;                                      // of a chunk of src
  static constexpr int unit_words = unit * DstBytes / 4;
  static constexpr int run = Side * units;  // units of one column of a tile
  static constexpr int cols_at_once = tile::threads / run;
  static constexpr int unit_steps = tile::extent / cols_at_once;
  static_assert(tile::threads % run == 0 && unit_steps >= 1);
  // Phase 3 runs before phase 2 if the loads of both phases 1 and 3 fit the registers.
  static constexpr bool early = tile::steps * 4 + unit_steps * unit_words < 48;
  // Phase 3 runs before the barrier. Elements of 8 bytes that become 4 would spill on sm_75.
  static constexpr bool ahead = unit_steps * unit_words <= 32 && !(SrcBytes == 8 && DstBytes == 4);
};

template <int Bytes>
GPU_INLINE void to_words(uint32_t* words, const word_t<Bytes>& from) {
  if constexpr (Bytes <= 4) {
    words[0] = from;
  } else {
    words[0] = from.x, words[1] = from.y;
    if constexpr (Bytes == 16) words[2] = from.z, words[3] = from.w;
  }
}
template <int Bytes>
GPU_INLINE word_t<Bytes> from_words(const uint32_t* words) {
  if constexpr (Bytes <= 4) return static_cast<word_t<Bytes>>(words[0]);
  if constexpr (Bytes == 8) return {words[0], words[1]};
  if constexpr (Bytes == 16) return {words[0], words[1], words[2], words[3]};
}

// The first `count` elements of a unit, at most Count. The other elements are 0, or not stored.
template <int Bytes, int Count>
GPU_INLINE void load_unit(uint32_t* unit, const unsigned char* from, int64_t count) {
  if (count >= Count) return to_words<Bytes * Count>(unit, load_global<word_t<Bytes * Count>>(from));
  GPU_UNROLL for (int k = 0; k < words_of<Bytes, Count>; ++k) unit[k] = 0;
  constexpr int Part = Bytes < 4 ? Bytes : 4;
  GPU_UNROLL for (int k = 0; k < Count * Bytes; k += Part) {
    if (k < count * Bytes) unit[k / 4] |= uint32_t{load_global<word_t<Part>>(from + k)} << k % 4 * 8;
  }
}
template <int Bytes, int Count>
GPU_INLINE void store_unit(unsigned char* to, const uint32_t* unit, int64_t count) {
  if (count >= Count) return store_global(to, from_words<Bytes * Count>(unit));
  constexpr int Part = Bytes < 4 ? Bytes : 4;
  GPU_UNROLL for (int k = 0; k < Count * Bytes; k += Part) {
    if (k < count * Bytes) store_global(to + k, static_cast<word_t<Part>>(unit[k / 4] >> k % 4 * 8));
  }
}

// 1. Stores a second destination in the order of src from the registers of the thread.
template <class At, int SrcBytes, int DstBytes, bool Whole, class Math>
GPU_INLINE void store_rows(const apply_args& args, const apply_origin& here, const Math& math,
                           const register_block<At::v> (&block)[At::steps / At::v]) {
  const int thread = static_cast<int>(thread_index());
  GPU_UNROLL for (int step = 0; step < At::steps; ++step) {
    const int row = At::src_row(thread, step);
    if (!Whole && row >= here.left[1]) continue;
    GPU_UNROLL for (int u = 0; u < At::units; ++u) {
      const int col = At::src_col(thread) + u * At::unit;
      const uint32_t none[At::unit_words] = {};
      uint32_t made[At::unit_words];
      math.template make<At::unit>(block[step / At::v].row[step % At::v] + u * (4 / At::units), none, made);
      unsigned char* const to = here.second + row * args.slots[1].second_bytes + col * DstBytes;
      store_unit<DstBytes, At::unit>(to, made, Whole ? At::unit : here.left[0] - col);
    }
  }
}

// 3. Loads the thread's unit `step` of a second source; 0 if there is none.
template <class At, int DstBytes, bool Whole>
GPU_INLINE void load_second(const apply_args& args, const apply_origin& here, int step, uint32_t* unit) {
  const int thread = static_cast<int>(thread_index());
  const int row = thread % At::run * At::unit, col = thread / At::run + step * At::cols_at_once;
  if (args.math.reads_second != 0) {
    load_unit<DstBytes, At::unit>(unit, here.second + col * args.slots[0].second_bytes + row * DstBytes,
                                  Whole                ? At::unit
                                  : col < here.left[0] ? here.left[1] - row
                                                       : 0);
  } else {
    GPU_UNROLL for (int k = 0; k < At::unit_words; ++k) unit[k] = 0;
  }
}

// 4.
template <class At, int SrcBytes, int DstBytes, bool Whole, class Math>
GPU_INLINE void store_columns(const apply_args& args, const apply_origin& here, const Math& math,
                              uint32_t (&second)[At::unit_steps][At::unit_words]) {
  const unsigned char* const tile = shared_memory();
  const int thread = static_cast<int>(thread_index());
  const int unit = thread % At::run, row = unit * At::unit;
  const bool second_too = args.second_written != 0 && args.second_by_cols == 0;
  GPU_UNROLL for (int step = 0; step < At::unit_steps; ++step) {
    const int col = thread / At::run + step * At::cols_at_once;
    if (!Whole && col >= here.left[0]) continue;
    const unsigned char* const from =
        tile + At::chunk_place(col, unit / At::units) + unit % At::units * (16 / At::units);
    uint32_t s[4 / At::units], made[At::unit_words];
    to_words<16 / At::units>(s, *reinterpret_cast<const word_t<16 / At::units>*>(from));
    if constexpr (!At::ahead) load_second<At, DstBytes, Whole>(args, here, step, second[step]);
    math.template make<At::unit>(s, second[step], made);
    const int64_t count = Whole ? At::unit : here.left[1] - row;
    store_unit<DstBytes, At::unit>(here.dst + col * args.slots[0].dst_bytes + row * DstBytes, made, count);
    if (!second_too) continue;
    store_unit<DstBytes, At::unit>(here.second + col * args.slots[0].second_bytes + row * DstBytes, made, count);
  }
}

template <int SrcBytes, int DstBytes, int Side, bool Whole>
GPU_INLINE void apply_tile(const apply_args& args, const apply_origin& here) {
  using at = apply_map<SrcBytes, DstBytes, Side>;
  const int thread = static_cast<int>(thread_index());
  const float scale = args.scale == nullptr ? 1.0f : load_cached(args.scale);

  register_block<at::v> block[at::steps / at::v];  //                                     (blocks, V rows, 16 bytes)
  const unsigned char* const from = here.src + at::src_col(thread) * SrcBytes;
  const int64_t cols = here.left[0] - at::src_col(thread);
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 1.
    const int row = at::src_row(thread, step);
    uint32_t(&chunk)[4] = block[step / at::v].row[step % at::v];
    if (args.math.reads_src != 0) {
      load_chunk<SrcBytes>(chunk, from + row * args.slots[1].src_bytes, Whole ? at::v : row < here.left[1] ? cols : 0);
    } else {
      chunk[0] = chunk[1] = chunk[2] = chunk[3] = 0;
    }
  }

  uint32_t second[at::unit_steps][at::unit_words];  //                                        (columns, a unit of rows)
  if constexpr (at::early) {
    GPU_UNROLL for (int step = 0; step < at::unit_steps; ++step) {  // 3.
      load_second<at, DstBytes, Whole>(args, here, step, second[step]);
    }
  }
  if (args.second_written != 0 && args.second_by_cols != 0) {
    with_math<SrcBytes, DstBytes>(args.math, scale, [&](const auto& math) {
      store_rows<at, SrcBytes, DstBytes, Whole>(args, here, math, block);
    });
  }

  GPU_UNROLL for (int b = 0; b < at::steps / at::v; ++b) transpose_block<SrcBytes>(block[b]);  // 2.
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {
    const uint32_t(&chunk)[4] = block[step / at::v].row[step % at::v];
    *reinterpret_cast<word_t<16>*>(shared_memory() + at::smem_store(thread, step)) = {chunk[0], chunk[1], chunk[2],
                                                                                      chunk[3]};
  }
  if constexpr (at::ahead && !at::early) {
    GPU_UNROLL for (int step = 0; step < at::unit_steps; ++step) {
      load_second<at, DstBytes, Whole>(args, here, step, second[step]);
    }
  }
  block_barrier();  // orders the chunks written in 2 before their reads in 4
  with_math<SrcBytes, DstBytes>(args.math, scale, [&](const auto& math) {
    store_columns<at, SrcBytes, DstBytes, Whole>(args, here, math, second);
  });
}

template <int SrcBytes, int DstBytes, int Side, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
apply_kernel(GPU_PARAMETER apply_args args) {
  static_assert(threads_of(Limits) == map::tile_map<SrcBytes, Side>::threads);
  constexpr int extent = map::tile_map<SrcBytes, Side>::extent;
  const apply_origin here = find_origin(args);
  wait_for_earlier_launches();
  if (here.left[0] >= extent && here.left[1] >= extent) {
    apply_tile<SrcBytes, DstBytes, Side, true>(args, here);
  } else {
    apply_tile<SrcBytes, DstBytes, Side, false>(args, here);
  }
}

}  // namespace cornerturn::gpu
