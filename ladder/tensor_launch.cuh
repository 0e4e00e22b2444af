// Launches of rungs with the tensor memory accelerator: sm_90 and later.
#pragma once

#include "launch.cuh"
#include "tensor.cuh"
#include "tensor_map.hpp"

namespace cornerturn::ladder {

template <class Rung>
GPU_KERNEL(Rung::threads, resident_blocks<Rung>)
tensor_kernel(GPU_PARAMETER tensor_arguments a) {
  Rung::template move<Rung>(a);
}

template <class Rung>
const char* launch_tensor_rung(const arguments& a, std::int64_t blocks, void* stream) {
  tensor_arguments all{a, {}, {}};
  const char* fault = encode_tensor(&all.src_tensor, a.src, a.rows, a.cols, Rung::word_bytes, Rung::tile_rows);
  if (fault == nullptr && Rung::tensor_store) {
    fault = encode_tensor(&all.dst_tensor, a.dst, a.cols, a.rows, Rung::word_bytes, Rung::tile_cols);
  }
  if (fault != nullptr) return fault;
  return launch_blocks<Rung>(reinterpret_cast<const void*>(&tensor_kernel<Rung>), &all, blocks, stream);
}

}  // namespace cornerturn::ladder
