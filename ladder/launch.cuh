// The kernel of a rung and its launch, for launch.cu and the CuTe rungs. Include a language header before it.
#pragma once

#include "gpu_runtime.hpp"
#include "grid.hpp"
#include "rung.hpp"

namespace cornerturn::ladder {

template <class Rung>
GPU_KERNEL(Rung::threads, resident_blocks<Rung>)
rung_kernel(GPU_PARAMETER arguments a) {
  Rung::template move<Rung>(a);
}

template <class Rung>
const char* launch_blocks(const void* kernel, void* parameter, std::int64_t blocks, void* stream) {
  return gpu_runtime::launch(kernel, parameter, blocks, Rung::threads, Rung::shared_bytes, stream);
}

template <class Rung>
const char* start_rung(const void* src, void* dst, const matrix_shape& shape, void* stream) {
  arguments a = arguments_for<Rung>(src, dst, shape);
  const std::int64_t blocks = Rung::blocks(a);
  if (blocks == 0) return nullptr;
  return launch_blocks<Rung>(reinterpret_cast<const void*>(&rung_kernel<Rung>), &a, blocks, stream);
}

}  // namespace cornerturn::ladder
