// The emulator's words for the kernel texts in src/kernels/gpu: the names of src/kernels/cuda/lang.cuh.
#pragma once

#include <cstdint>
#include <type_traits>

#include "emulate/emulator.hpp"
#include "kernels/element.hpp"
#include "kernels/gpu/policy/limits.hpp"
#include "kernels/gpu/traits.hpp"
#include "kernels/gpu/word.hpp"

#define GPU_KERNEL(threads, blocks) void
// Inlined as on a GPU, so that each memory instruction of a kernel is one place of the program: see emulated::request.
#define GPU_INLINE inline __attribute__((always_inline))
#define GPU_PARAMETER const
#define GPU_UNROLL
#define GPU_UNROLL_BY(n)
#define GPU_HAS_TENSOR_MEMORY 1

namespace cornerturn::gpu {

using std::int32_t;
using std::int64_t;
using std::uint32_t;

inline constexpr kernels::lang_words has_words = {.async_copies = true, .block_flags = true, .small_floats = true};
inline constexpr int warp_lanes = 32, warp_lanes_log2 = 5;

// Words that a GPU moves as one access: a copy from or to an address that is no multiple of their size is a fault.
struct alignas(8) word_of_8 {
  uint32_t x, y;
  word_of_8() = default;
  word_of_8(uint32_t a, uint32_t b) : x(a), y(b) {}
  GPU_INLINE word_of_8(const word_of_8& from) { *this = from; }
  GPU_INLINE word_of_8& operator=(const word_of_8& from) {
    emulated::copy_word(this, &from, 8);
    return *this;
  }
};
struct alignas(16) word_of_16 {
  uint32_t x, y, z, w;
  word_of_16() = default;
  word_of_16(uint32_t a, uint32_t b, uint32_t c, uint32_t d) : x(a), y(b), z(c), w(d) {}
  GPU_INLINE word_of_16(const word_of_16& from) { *this = from; }
  GPU_INLINE word_of_16& operator=(const word_of_16& from) {
    emulated::copy_word(this, &from, 16);
    return *this;
  }
};

template <int Bytes>
using word_t = typename word<Bytes, word_of_8, word_of_16>::type;

GPU_INLINE uint32_t thread_index() { return emulated::thread_index(); }
GPU_INLINE uint32_t block_index() { return emulated::block_index(); }
struct emulated_position {
  uint32_t x, y, z;
};
GPU_INLINE emulated_position block_in_grid(uint32_t width, uint32_t height) {
  return {block_index() % width, block_index() / width % height, block_index() / width / height};
}
template <int BlockBytes = 4096>
GPU_INLINE void wait_for_earlier_launches() {
  emulated::wait_for_earlier_launches();
}
GPU_INLINE void block_barrier(unsigned line = __builtin_LINE()) { emulated::barrier(line); }
GPU_INLINE unsigned char* shared_memory() { return emulated::shared_memory(); }

GPU_INLINE uint32_t multiply_high(uint32_t a, uint32_t b) { return static_cast<uint32_t>(std::uint64_t{a} * b >> 32); }
// The selector's four low digits each name one of eight bytes; a digit's highest bit would ask for a sign.
GPU_INLINE uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  uint32_t made = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t digit = selector >> 4 * k & 15;
    const auto byte = static_cast<uint32_t>(both >> 8 * (digit & 7) & 255);
    made |= (digit < 8 ? byte : byte < 128 ? 0u : 255u) << 8 * k;
  }
  return made;
}
GPU_INLINE uint32_t value_of_next_lane(uint32_t value) { return emulated::value_of_next_lane(value); }
GPU_INLINE uint32_t funnel_shift_right(uint32_t low, uint32_t high, uint32_t bits) {
  return static_cast<uint32_t>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}

template <class Word>
GPU_INLINE Word load_global(const void* from) {
  Word value;
  emulated::load_global(&value, from, sizeof value);
  return value;
}
template <class Word>
GPU_INLINE Word load_cached(const Word* from) {
  return load_global<Word>(from);
}
template <class Word>
GPU_INLINE void store_global(void* to, Word value) {
  emulated::store_global(to, &value, sizeof value);
}

// One access, as nvcc makes it of the four words of a chunk; g++ would make four.
template <class Word>
GPU_INLINE Word view_shared(const Word* from) {
  return *from;
}
template <class Word>
GPU_INLINE Word load_shared(const void* from) {
  return *static_cast<const Word*>(from);
}
template <class Word>
GPU_INLINE void store_shared(void* to, Word value) {
  *static_cast<Word*>(to) = value;
}

GPU_INLINE uint32_t read_flag(const uint32_t* flag) { return emulated::read_flag(flag); }
GPU_INLINE bool claim_bit(uint32_t* flag, uint32_t bit) { return emulated::claim_bit(flag, bit); }
GPU_INLINE void publish_bit(uint32_t* flag, uint32_t bit) { emulated::publish_bit(flag, bit); }
GPU_INLINE void wait_for_bit(const uint32_t* flag, uint32_t bit) { emulated::wait_for_bit(flag, bit); }
GPU_INLINE void raise_flag(uint32_t* flag) { emulated::raise_flag(flag); }
GPU_INLINE void wait_for_flag(const uint32_t* flag, uint32_t value) { emulated::wait_for_flag(flag, value); }

template <int Bytes>
GPU_INLINE void start_copy(void* shared, const void* global) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  emulated::start_copy(shared, global, Bytes, 0, Bytes);
}
GPU_INLINE void start_line_copy(void* shared, const void* global, int32_t first = 0, int32_t end = 16) {
  emulated::start_copy(shared, global, 16, first, end);
}
GPU_INLINE void wait_for_copies() { emulated::wait_for_copies(); }

// By the conversions of kernels/element.hpp: what the kernels do round the vendor's is then run too.
inline constexpr bool has_small_floats = true;
GPU_INLINE float float_of_float16(uint32_t bits) {
  return kernels::widen(kernels::float16{static_cast<std::uint16_t>(bits)});
}
template <class T>
uint32_t pair_of(float low, float high, bool saturate) {
  return kernels::narrow<T>(low, saturate).bits | uint32_t{kernels::narrow<T>(high, saturate).bits} << 8 * sizeof(T);
}
GPU_INLINE uint32_t pair_of_float16(float low, float high) { return pair_of<kernels::float16>(low, high, false); }
GPU_INLINE uint32_t pair_of_bfloat16(float low, float high) { return pair_of<kernels::bfloat16>(low, high, false); }
GPU_INLINE uint32_t pair_of_e4m3(float low, float high) { return pair_of<kernels::float8_e4m3>(low, high, true); }
GPU_INLINE uint32_t pair_of_e5m2(float low, float high) { return pair_of<kernels::float8_e5m2>(low, high, true); }
GPU_INLINE float clamped(float x, float limit) { return x > limit ? limit : x < -limit ? -limit : x; }

}  // namespace cornerturn::gpu
