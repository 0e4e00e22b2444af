#include "check.hpp"

#include <cuda_runtime.h>

namespace cornerturn::testing {
namespace {

__device__ std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
__device__ unsigned char byte_at(std::int64_t position) {
  return static_cast<unsigned char>(mix(static_cast<std::uint64_t>(position) / 8) >> position % 8 * 8);
}
__device__ std::int64_t first_index() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::int64_t all_threads() { return std::int64_t{gridDim.x} * blockDim.x; }

__global__ void fill_kernel(unsigned char* memory, std::int64_t bytes) {
  for (std::int64_t word = first_index(); word * 8 < bytes; word += all_threads()) {
    const std::uint64_t value = mix(static_cast<std::uint64_t>(word));
    if (word * 8 + 8 <= bytes) {
      reinterpret_cast<std::uint64_t*>(memory)[word] = value;
    } else {
      for (std::int64_t k = word * 8; k < bytes; ++k) memory[k] = static_cast<unsigned char>(value >> k % 8 * 8);
    }
  }
}

struct answer {
  unsigned long long wrong;
  unsigned long long first;
};

__global__ void check_kernel(problem what, std::int64_t elements, std::int64_t src_position, const unsigned char* dst,
                             answer* found) {
  const axis* const axes = reinterpret_cast<const axis*>(&what.axes);  // std::array has no device members
  for (std::int64_t i = first_index(); i < elements; i += all_threads()) {
    std::int64_t rest = i, from = 0, to = 0;
    for (int k = what.rank - 1; k >= 0; --k) {
      const std::int64_t index = rest % axes[k].extent;
      rest /= axes[k].extent;
      from += index * axes[k].src_stride;
      to += index * axes[k].dst_stride;
    }
    bool same = true;
    for (std::int64_t b = 0; b < what.element_bytes; ++b) {
      same = same && dst[to * what.element_bytes + b] == byte_at(src_position + from * what.element_bytes + b);
    }
    if (same) continue;
    atomicAdd(&found->wrong, 1ULL);
    atomicMin(&found->first, static_cast<unsigned long long>(i));
  }
}

__global__ void count_kernel(const unsigned char* memory, std::int64_t bytes, unsigned char value, answer* found) {
  for (std::int64_t k = first_index(); k < bytes; k += all_threads()) {
    if (memory[k] != value) atomicAdd(&found->wrong, 1ULL);
  }
}

class device_answer {
 public:
  device_answer() {
    const answer none{0, ~0ULL};
    cudaMalloc(&memory_, sizeof none);
    cudaMemcpy(memory_, &none, sizeof none, cudaMemcpyHostToDevice);
  }
  ~device_answer() { cudaFree(memory_); }
  answer* get() { return memory_; }
  answer read() {
    answer found{~0ULL, 0};  // stays so when the device failed
    cudaMemcpy(&found, memory_, sizeof found, cudaMemcpyDeviceToHost);
    return found;
  }

 private:
  answer* memory_ = nullptr;
};

constexpr int blocks = 8192;
constexpr int threads = 256;

}  // namespace

void fill_with_pattern(void* memory, std::int64_t bytes) {
  fill_kernel<<<blocks, threads>>>(static_cast<unsigned char*>(memory), bytes);
}

verdict check_moved(const problem& what, const void* src_begin, const void* src, const void* dst) {
  std::int64_t elements = 1;
  for (int k = 0; k < what.rank; ++k) elements *= what.axes[k].extent;
  device_answer found;
  check_kernel<<<blocks, threads>>>(what, elements, static_cast<const char*>(src) - static_cast<const char*>(src_begin),
                                    static_cast<const unsigned char*>(dst), found.get());
  const answer said = found.read();
  return {said.wrong, said.wrong == 0 ? -1 : static_cast<std::int64_t>(said.first)};
}

std::uint64_t count_other_bytes(const void* memory, std::int64_t bytes, unsigned char value) {
  device_answer found;
  count_kernel<<<blocks, threads>>>(static_cast<const unsigned char*>(memory), bytes, value, found.get());
  return found.read().wrong;
}

}  // namespace cornerturn::testing
