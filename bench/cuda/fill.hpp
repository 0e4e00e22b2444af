// Random sources, poisoned destinations, and the spin that lets the host run ahead: kernels of the bench's own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace cornerturn::bench::cuda {

// As on the host: bytes that every IEEE format reads as finite and normal, and a poison that is none of them.
inline constexpr unsigned char poison_byte = 0x5a;

// Poisoned and checked on either side of dst: a tile that runs over the last row lands far past the last byte. Less
// than the gap between slots of the pool.
inline constexpr std::int64_t device_guard_bytes = std::int64_t{1} << 20;

// Effect  the bytes of memory.cpp's generator, beginning at word `seed`; `to` is aligned to 8, and 8 bytes are a unit
void fill_random(void* to, std::int64_t bytes, std::uint64_t seed, cudaStream_t on);

// Effect  the byte of the lowest word that is no longer what fill_random made of it goes to `*lowest`, where it is
// lower
void find_changed(const void* filled, std::int64_t bytes, std::uint64_t seed, unsigned long long* lowest,
                  cudaStream_t on);

// Effect  poison from device_guard_bytes before `dst` to as many behind `dst + bytes`
void fill_poison(void* dst, std::int64_t bytes, cudaStream_t on);

// Effect  keeps the stream busy for that long, so that what is enqueued meanwhile runs without gaps
void spin(std::int64_t nanoseconds, cudaStream_t on);

}  // namespace cornerturn::bench::cuda
