#include "bench/cuda/call.hpp"
#include "bench/cuda/fill.hpp"

namespace cornerturn::bench::cuda {

namespace {

__device__ std::uint64_t random_word(std::uint64_t seed, std::int64_t i) {  // splitmix64
  std::uint64_t z = (seed + static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return (z & 0x9f9f9f9f9f9f9f9fULL) | 0x2020202020202020ULL;
}

__global__ void random_words(std::uint64_t* to, std::int64_t words, std::uint64_t seed) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < words) to[i] = random_word(seed, i);
}

__global__ void compare_words(const std::uint64_t* filled, std::int64_t words, std::uint64_t seed,
                              unsigned long long* lowest) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= words || filled[i] == random_word(seed, i)) return;
  const auto at = static_cast<unsigned long long>(i) * 8;
  if (at < *static_cast<volatile unsigned long long*>(lowest)) atomicMin(lowest, at);
}

__global__ void wait_nanoseconds(std::int64_t nanoseconds) {
  std::int64_t begin = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

}  // namespace

void fill_random(void* to, std::int64_t bytes, std::uint64_t seed, cudaStream_t on) {
  const std::int64_t words = (bytes + 7) / 8;
  random_words<<<static_cast<unsigned>((words + 255) / 256), 256, 0, on>>>(static_cast<std::uint64_t*>(to), words,
                                                                           seed);
  must(cudaGetLastError(), "fill_random");
}

void find_changed(const void* filled, std::int64_t bytes, std::uint64_t seed, unsigned long long* lowest,
                  cudaStream_t on) {
  const std::int64_t words = (bytes + 7) / 8;
  compare_words<<<static_cast<unsigned>((words + 255) / 256), 256, 0, on>>>(static_cast<const std::uint64_t*>(filled),
                                                                            words, seed, lowest);
  must(cudaGetLastError(), "find_changed");
}

void fill_poison(void* dst, std::int64_t bytes, cudaStream_t on) {
  must(cudaMemsetAsync(static_cast<std::byte*>(dst) - device_guard_bytes, poison_byte,
                       static_cast<std::size_t>(bytes + 2 * device_guard_bytes), on),
       "cudaMemsetAsync");
}

void spin(std::int64_t nanoseconds, cudaStream_t on) {
  wait_nanoseconds<<<1, 1, 0, on>>>(nanoseconds);
  must(cudaGetLastError(), "spin");
}

}  // namespace cornerturn::bench::cuda
