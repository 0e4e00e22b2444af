// Kernels of the bench: random sources, poisoned destinations, and a spin that lets the host run ahead.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace cornerturn::bench::cuda {

// As in memory.cpp: random bytes are finite and normal numbers in every IEEE format, and none of them is the poison.
inline constexpr unsigned char poison_byte = 0x5a;

// The guards before and behind dst are poisoned and checked. They are large, because a tile that exceeds the last row stores
// far behind the last byte. They are smaller than the gap between slots of the pool.
inline constexpr std::int64_t device_guard_bytes = std::int64_t{1} << 20;

// Effect  writes the bytes of memory.cpp's generator, beginning at word `seed`
// Shape   `to` is aligned to 8 bytes. Whole words of 8 bytes are written
void fill_random(void* to, std::int64_t bytes, std::uint64_t seed, cudaStream_t on);

// Effect  finds the lowest word that differs from the output of fill_random, and lowers `*lowest` to the offset of the word in
//         bytes
void find_changed(const void* filled, std::int64_t bytes, std::uint64_t seed, unsigned long long* lowest,
                  cudaStream_t on);

// Effect  writes poison to dst and to the guards: device_guard_bytes before it and behind it
void fill_poison(void* dst, std::int64_t bytes, cudaStream_t on);

// Effect  keeps the stream busy for this time, so that calls that are enqueued meanwhile run without gaps
void spin(std::int64_t nanoseconds, cudaStream_t on);

}  // namespace cornerturn::bench::cuda
