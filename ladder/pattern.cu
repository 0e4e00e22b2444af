#include "pattern.hpp"

#include "device.hpp"
#include CORNERTURN_GPU_WORDS  // __global__

namespace cornerturn::ladder {
namespace {

using counter = unsigned long long;
constexpr unsigned blocks = 1024, threads = 256;  // grid-stride loops; not part of a measurement

// A bijection of 64 bits, or of 32 bits: multiplies by an odd number and XORs high bits into low bits.
template <class Word>
__device__ Word expected(std::int64_t element, std::uint32_t seed) {
  if constexpr (sizeof(Word) == 8) {
    std::uint64_t x = (static_cast<std::uint64_t>(element) + seed) * 0x9e3779b97f4a7c15u;
    return static_cast<Word>(x ^ x >> 29);
  } else {
    std::uint32_t x = (static_cast<std::uint32_t>(element) + seed) * 0x9e3779b1u;
    x ^= x >> 15;
    x *= 0x85ebca6bu;
    return static_cast<Word>(x ^ x >> 13);
  }
}

__device__ std::int64_t first() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::int64_t stride() { return std::int64_t{gridDim.x} * blockDim.x; }

template <class Word>
__global__ void fill_kernel(Word* array, std::int64_t elements, std::uint32_t seed) {
  for (std::int64_t i = first(); i < elements; i += stride()) array[i] = expected<Word>(i, seed);
}

template <class Word>
__global__ void count_kernel(const Word* dst, matrix_shape shape, std::uint32_t seed, bool copied, counter* wrong) {
  const std::int64_t matrix = shape.rows * shape.cols;
  for (std::int64_t i = first(); i < matrix * shape.batch; i += stride()) {
    const std::int64_t which = i / matrix, in = i % matrix;
    const std::int64_t row = in % shape.rows, col = in / shape.rows;  // of src
    const std::int64_t from = copied ? i : which * matrix + row * shape.cols + col;
    if (dst[i] != expected<Word>(from, seed)) atomicAdd(wrong, counter{1});
  }
}

__global__ void changed_kernel(const unsigned char* bytes, std::int64_t count, unsigned char value, counter* changed) {
  for (std::int64_t i = first(); i < count; i += stride()) {
    if (bytes[i] != value) atomicAdd(changed, counter{1});
  }
}

template <class Use>
void with_word(int word_bytes, const Use& use) {
  if (word_bytes == 1) use(std::uint8_t{});
  if (word_bytes == 2) use(std::uint16_t{});
  if (word_bytes == 4) use(std::uint32_t{});
  if (word_bytes == 8) use(std::uint64_t{});
}

template <class Count>
std::int64_t counted(const Count& count) {
  static device_buffer result(sizeof(counter));  // static: the checks call this thousands of times
  check(gpu_runtime::set_bytes(result.get(), 0, sizeof(counter)));
  count(static_cast<counter*>(result.get()));
  check(gpu_runtime::last_error());
  counter value = 0;
  check(gpu_runtime::copy_to_host(&value, result.get(), sizeof value));
  return static_cast<std::int64_t>(value);
}

}  // namespace

void fill(void* array, std::int64_t elements, int word_bytes, std::uint32_t seed) {
  with_word(word_bytes,
            [&](auto word) { fill_kernel<<<blocks, threads>>>(static_cast<decltype(word)*>(array), elements, seed); });
  check(gpu_runtime::last_error());
}

std::int64_t count_wrong(const void* dst, const matrix_shape& shape, int word_bytes, std::uint32_t seed, bool copied) {
  return counted([&](counter* result) {
    with_word(word_bytes, [&](auto word) {
      count_kernel<<<blocks, threads>>>(static_cast<const decltype(word)*>(dst), shape, seed, copied, result);
    });
  });
}

std::int64_t count_changed(const void* bytes, std::int64_t count, unsigned char value) {
  return counted([&](counter* result) {
    changed_kernel<<<blocks, threads>>>(static_cast<const unsigned char*>(bytes), count, value, result);
  });
}

}  // namespace cornerturn::ladder
