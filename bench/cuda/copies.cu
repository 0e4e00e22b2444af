// Each thread loads all of its vectors before it stores the first one, so that all these loads are in flight together. As the
// library's launches, a copy begins while the launch before it ends, where the GPU can do so: else a hot copy would be no roof.
#include "bench/cuda/call.hpp"
#include "bench/cuda/copies.hpp"
#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"

namespace cornerturn::bench::cuda {

namespace {

template <int Vectors, int Threads, bool Streaming>
__global__ void __launch_bounds__(Threads)
    copy_vectors(const uint4* src, uint4* dst, std::int64_t vectors, int tail_bytes) {
  gpu::wait_for_earlier_launches();
  const std::int64_t first = std::int64_t{blockIdx.x} * (Threads * Vectors) + threadIdx.x;
  uint4 held[Vectors];
#pragma unroll
  for (int k = 0; k < Vectors; ++k) {
    const std::int64_t i = first + k * Threads;
    if (i < vectors) held[k] = Streaming ? __ldcs(src + i) : src[i];
  }
#pragma unroll
  for (int k = 0; k < Vectors; ++k) {
    const std::int64_t i = first + k * Threads;
    if (i < vectors) {
      if (Streaming) {
        __stcs(dst + i, held[k]);
      } else {
        dst[i] = held[k];
      }
    }
  }
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < tail_bytes) {
    reinterpret_cast<unsigned char*>(dst + vectors)[threadIdx.x] =
        reinterpret_cast<const unsigned char*>(src + vectors)[threadIdx.x];
  }
}

template <int Vectors, int Threads, bool Streaming>
void copy_by_kernel(const std::byte* src, std::byte* dst, std::int64_t bytes, cudaStream_t on) {
  const std::int64_t vectors = bytes / 16, block = std::int64_t{Threads} * Vectors;
  const auto blocks = static_cast<unsigned>(vectors == 0 ? 1 : (vectors + block - 1) / block);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(blocks);
  how.blockDim = dim3(Threads);
  how.stream = on;
  how.attrs = &overlap;
  how.numAttrs = kernels::overlaps_launches<copy_vectors<Vectors, Threads, Streaming>>() ? 1 : 0;
  must(cudaLaunchKernelEx(&how, copy_vectors<Vectors, Threads, Streaming>, reinterpret_cast<const uint4*>(src),
                          reinterpret_cast<uint4*>(dst), vectors, static_cast<int>(bytes % 16)),
       "copy kernel");
}

void copy_by_driver(const std::byte* src, std::byte* dst, std::int64_t bytes, cudaStream_t on) {
  must(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, on), "cudaMemcpyAsync");
}

}  // namespace

const std::vector<device_copy>& device_copies() {
#define KINDS(vectors)                                                     \
  {"copy_v" #vectors "_256_cs", copy_by_kernel<vectors, 256, true>},       \
      {"copy_v" #vectors "_256", copy_by_kernel<vectors, 256, false>},     \
      {"copy_v" #vectors "_512_cs", copy_by_kernel<vectors, 512, true>}, { \
    "copy_v" #vectors "_512", copy_by_kernel<vectors, 512, false>          \
  }
  static const std::vector<device_copy> kinds{
      {"cudaMemcpyAsync", copy_by_driver}, KINDS(1), KINDS(2), KINDS(4), KINDS(8)};
#undef KINDS
  return kinds;
}

}  // namespace cornerturn::bench::cuda
