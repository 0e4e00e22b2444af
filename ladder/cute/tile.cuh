// Code that the CuTe rungs share: a tile with layouts. A rung is defined by three layouts and the width of its loads.
//
//   order_in   maps threads to the pieces of the tile that they load
//   order_out  maps threads to the elements that they store
//   places     maps elements to offsets in shared memory; void: no shared memory, elements stay in registers
//
// 1. Each thread loads its pieces into registers and stores them into the tile. 2. Barrier. 3. It stores its elements.
// Any matrix size: a piece has 16 bytes only if rows of src are a whole number of pieces.
// Seed: CuTe. These rungs load through registers, as the CUDA rungs do; CuTe's copy_if would choose cp.async.
#pragma once

#include <cute/tensor.hpp>

#include "../rung.hpp"
#ifdef GPU_KERNEL
#include "../move.cuh"
#endif

namespace cornerturn::ladder {

// A warp along a row, a warp down a column; 256 threads.
using along_rows = cute::Layout<cute::Shape<cute::_8, cute::_32>, cute::Stride<cute::_32, cute::_1>>;
using down_columns = cute::Layout<cute::Shape<cute::_32, cute::_8>, cute::Stride<cute::_1, cute::_32>>;

// Returns the coordinate in `Tile` of the element for `thread` and `step` in this order.
template <class Tile, class Order>
CORNERTURN_HOST_DEVICE constexpr at handled(int thread, int step) {
  const auto mine = cute::local_partition(cute::make_identity_tensor(Tile{}), Order{}, thread);
  const auto where = mine(step);
  return {static_cast<int>(cute::get<0>(where)), static_cast<int>(cute::get<1>(where))};
}

template <class Places>
struct room_for {
  static constexpr int elements = cute::cosize_v<Places>;
  RUNG_MAP int place(at e) { return static_cast<int>(Places{}(e.row, e.col)); }
};
template <>
struct room_for<void> {
  static constexpr int elements = 0;
};

template <int WordBytes, int Width, class OrderIn, class OrderOut, class Places>
struct cute_tile : rung<WordBytes> {
  static constexpr int least_word_bytes = 4;
  static constexpr int width = Width;
  static constexpr int threads = 256;
  static constexpr int tile_rows = 32;
  static constexpr int tile_cols = Width == 1 ? 64 : 32 * Width;
  static constexpr int elements = tile_rows * tile_cols / threads;  // per thread
  static constexpr int steps = elements / Width;
  static constexpr int shared_bytes = room_for<Places>::elements * WordBytes;
  using places = Places;
  using shape = cute::Shape<cute::Int<tile_rows>, cute::Int<tile_cols>>;
  using shape_in_pieces = cute::Shape<cute::Int<tile_rows>, cute::Int<tile_cols / Width>>;

  RUNG_MAP at read(int thread, int step) {  // the first element of a piece
    const at piece = handled<shape_in_pieces, OrderIn>(thread, step);
    return {piece.row, piece.col * Width};
  }
  RUNG_MAP at read_element(int thread, int step) { return handled<shape, OrderIn>(thread, step); }
  RUNG_MAP at write(int thread, int step) { return handled<shape, OrderOut>(thread, step); }
  RUNG_MAP int place(at e) { return room_for<Places>::place(e) * WordBytes; }

#ifdef GPU_KERNEL
  // Copies the pieces of From that are inside the matrix to registers, and from there to the tile or to dst.
  template <class Order, class From, class To, class Rung>
  GPU_INLINE static void copy_inside(const From& from, To&& to, const part<Rung>& p, int pieces_of) {
    const int thread = static_cast<int>(gpu::thread_index());
    const auto where = cute::local_partition(cute::make_identity_tensor(cute::shape(from)), Order{}, thread);
    const auto inside = cute::lazy::transform(
        where, [&](const auto& e) { return cute::get<0>(e) < p.rows && cute::get<1>(e) * pieces_of < p.cols; });
    const auto source = cute::local_partition(from, Order{}, thread);
    auto target = cute::local_partition(to, Order{}, thread);
    auto held = cute::make_fragment_like(source);
    cute::copy_if(inside, source, held);
    cute::copy_if(inside, held, target);
  }

  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    using word = word_t<WordBytes>;
    using piece = word_t<Width * WordBytes>;
    const auto p = part_of<Rung>(a, Rung::tile_of(gpu::block_index(), a));
    const auto src = cute::make_tensor(cute::make_gmem_ptr(p.src), shape{},
                                       cute::make_stride(p.src_ld, cute::_1{}));  // (tile_rows, tile_cols)
    const auto dst = cute::make_tensor(cute::make_gmem_ptr(p.dst), shape{},
                                       cute::make_stride(cute::_1{}, p.dst_ld));  // with src's coordinates
    if constexpr (std::is_void_v<Places>) {
      copy_inside<OrderOut>(src, dst, p, 1);
    } else {
      const auto tile = cute::make_tensor(cute::make_smem_ptr(reinterpret_cast<word*>(p.shared)),
                                          Places{});  // (tile_rows, tile_cols)
      if (p.src_in_pieces) {
        copy_inside<OrderIn>(cute::recast<const piece>(src), cute::recast<piece>(tile), p, Width);
      } else {
        copy_inside<OrderIn>(src, tile, p, 1);
      }
      gpu::block_barrier();  // orders the stores into the tile before the loads from it
      copy_inside<OrderOut>(tile, dst, p, 1);
    }
  }
#endif
};

}  // namespace cornerturn::ladder
