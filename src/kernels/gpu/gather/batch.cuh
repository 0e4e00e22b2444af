// Gather boxes of many items in one launch. gather/args.hpp has the tables.
//   1. the block copies its shape to shared memory, as much of it as the launch uses
//   2. one thread stores the addresses of the block's first item into the shape
//   3. after a barrier the block gathers its box as gather/kernel.cuh does. If the box holds several items, each run
//      and each line takes the address of its own item from the table
#pragma once

#include <cstddef>

#include "kernels/gpu/gather/kernel.cuh"

namespace cornerturn::gpu {

GPU_INLINE std::uint64_t join(uint32_t low, uint32_t high) { return std::uint64_t{high} << 32 | low; }

GPU_INLINE item_addresses load_item(const gather_batch_args& batch, uint32_t number) {
  const auto both = load_cached(reinterpret_cast<const word_t<16>*>(batch.items) + number);
  return {join(both.x, both.y), join(both.z, both.w)};
}

struct many_items {
  static constexpr bool args_are_variable = true;
  const gather_batch_args& batch;
  const gather_shape& shape;
  uint32_t count;

  GPU_INLINE void limit(tile_origin& here) const {
    if (shape.item_slot == 0) here.left[0] = count;
    if (shape.item_slot == 1) here.left[1] = count;
  }
  // Byte offsets from the block's first item to the item of a run, or of a line.
  GPU_INLINE int64_t src_offset(int32_t run) const {
    if (shape.item_slot < 0) return 0;
    const std::uint64_t mine = load_item(batch, shape.first + shape.item_runs.quotient(run)).src;
    return static_cast<int64_t>(mine - reinterpret_cast<std::uint64_t>(shape.box.arrays.src));
  }
  GPU_INLINE int64_t dst_offset(int32_t line) const {
    if (shape.item_slot < 0) return 0;
    const std::uint64_t mine = load_item(batch, shape.first + shape.item_lines.quotient(line)).dst;
    return static_cast<int64_t>(mine - reinterpret_cast<std::uint64_t>(shape.box.arrays.dst));
  }
  GPU_INLINE src_bounds readable(int32_t run) const {
    const auto distance = static_cast<std::uint64_t>(src_offset(run));
    return {shape.box.arrays.src_begin + distance, shape.box.arrays.src_end + distance};
  }
};

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
gather_batch_kernel(GPU_PARAMETER gather_batch_args batch) {
  static_assert(threads_of(Limits) == gather_threads);
  const auto thread = static_cast<int32_t>(thread_index());
  wait_for_earlier_launches();
  const auto mine = load_cached(reinterpret_cast<const word_t<16>*>(batch.blocks) + block_index());  // a gather_block
  const uint32_t first = mine.y, count = mine.z, number = mine.w;
  auto& shape = *reinterpret_cast<gather_shape*>(shared_memory() + batch.shape_at);

  const auto* const from = reinterpret_cast<const word_t<16>*>(
      batch.shapes + std::size_t{mine.x} * static_cast<std::size_t>(batch.shape_bytes));
  auto* const to = reinterpret_cast<word_t<16>*>(&shape);
  constexpr int32_t pointers = offsetof(gather_shape, box) / 16;  // phase 2 writes this chunk and its two neighbours
  for (int32_t i = thread; i < batch.shape_bytes / 16; i += gather_threads) {  // 1.
    if (i < pointers - 1 || i > pointers + 1) to[i] = load_cached(from + i);
  }
  if (thread == 0) {  // 2.
    const item_addresses item = load_item(batch, first);
    auto before = load_cached(from + pointers - 1);
    const auto bounds = load_cached(from + pointers + 1);
    before.w = first;
    to[pointers - 1] = before;
    shape.box.arrays.src = reinterpret_cast<const void*>(item.src);
    shape.box.arrays.dst = reinterpret_cast<void*>(item.dst);
    shape.box.arrays.src_begin = item.src + join(bounds.x, bounds.y);
    shape.box.arrays.src_end = item.src + join(bounds.z, bounds.w);
  }
  block_barrier();  // orders the writes of the shape in 1 and 2 before its reads in 3
  gather_box<WordBytes>(shape.box, number, many_items{batch, shape, count});  // 3.
}

}  // namespace cornerturn::gpu
