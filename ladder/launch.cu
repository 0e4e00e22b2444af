// Instances of every rung for 1, 2, 4 and 8 bytes, and the table of their launchers.
#include "launch.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "cute/cute.hpp"
#include "harness.hpp"
#include "job.hpp"
#include "kernels/cuda/lang.cuh"
#include "tensor.cuh"
#include "tensor_map.hpp"
// The words come first.
#include "launch.cuh"
#include "rungs.hpp"

namespace cornerturn::ladder {
namespace {

template <class Rung>
GPU_KERNEL(Rung::threads, resident_blocks<Rung>)
tensor_kernel(GPU_PARAMETER tensor_arguments a) {
  Rung::template move<Rung>(a);
}

template <class Rung>
const char* start(const void* src, void* dst, const matrix_shape& shape, void* stream) {
  arguments a = arguments_for<Rung>(src, dst, shape);
  const std::int64_t blocks = Rung::blocks(a);
  if (blocks == 0) return nullptr;
  if constexpr (Rung::is_production) {
    auto job = job_for<Rung>(a);
    return launch_blocks<Rung>(reinterpret_cast<const void*>(Rung::kernel), &job, blocks, stream);
  } else if constexpr (Rung::tensor_load) {
    tensor_arguments all{a, {}, {}};
    const char* fault = encode_tensor(&all.src_tensor, src, a.rows, a.cols, Rung::word_bytes, Rung::tile_rows);
    if (fault == nullptr && Rung::tensor_store) {
      fault = encode_tensor(&all.dst_tensor, dst, a.cols, a.rows, Rung::word_bytes, Rung::tile_cols);
    }
    if (fault != nullptr) return fault;
    return launch_blocks<Rung>(reinterpret_cast<const void*>(&tensor_kernel<Rung>), &all, blocks, stream);
  } else {
    return start_rung<Rung>(src, dst, shape, stream);
  }
}

template <class Rung>
void add(std::vector<launcher>& table, const char* name, int compute) {
  if constexpr (Rung::word_bytes >= Rung::least_word_bytes) {
    if (compute >= Rung::least_compute) table.push_back({facts_of<Rung>(name), &start<Rung>});
  }
}

std::vector<launcher> all() {
  std::vector<launcher> table;
  int device = 0, major = 0, minor = 0;
  const bool there = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
  if (!there) return table;
  const int compute = 10 * major + minor;
#define RUNG(file, type)               \
  add<type<1>>(table, #file, compute); \
  add<type<2>>(table, #file, compute); \
  add<type<4>>(table, #file, compute); \
  add<type<8>>(table, #file, compute);
#include "ladder.inc"
#undef RUNG
#ifdef CORNERTURN_CUTE
  for (const launcher& one : cute_launchers()) table.push_back(one);
#endif
  return table;
}

}  // namespace

std::string absence() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return {};
  return std::string("there is no GPU that CUDA can use (") +
         (status == cudaSuccess ? "none found" : cudaGetErrorString(status)) + ")";
}

std::span<const launcher> launchers() {
  static const std::vector<launcher> table = all();
  return table;
}

const launcher* find_launcher(std::string_view rung, int word_bytes) {
  const auto table = launchers();
  const auto found = std::ranges::find_if(
      table, [&](const launcher& one) { return one.rung == rung && one.word_bytes == word_bytes; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace cornerturn::ladder
