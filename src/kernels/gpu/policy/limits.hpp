// The launch bounds of an instance as one number, so that they are written in its row only: the threads of a block, the
// minimum blocks on a multiprocessor of each architecture, and the division between shared memory and L1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace cornerturn::gpu {

// The blocks that must fit a multiprocessor, which limits registers. 0: the number of sm_90.
struct min_blocks {
  int sm75 = 0;
  int sm80 = 0;
  int sm86 = 0;
  int sm89 = 0;
  int sm90 = 1;
  int sm100 = 0;
  int sm120 = 0;
};

// shared_percent: the share of shared memory in the memory that it divides with L1; 0: the driver decides
constexpr std::uint64_t limits(int threads, min_blocks blocks, int shared_percent = 0) {
  std::uint64_t packed = static_cast<std::uint64_t>(threads) | static_cast<std::uint64_t>(shared_percent) << 11;
  int shift = 18;
  for (const int here : {blocks.sm75, blocks.sm80, blocks.sm86, blocks.sm89, blocks.sm90, blocks.sm100, blocks.sm120}) {
    packed |= static_cast<std::uint64_t>(here == 0 ? blocks.sm90 : here) << shift;
    shift += 6;
  }
  return packed;
}
constexpr std::uint64_t limits(int threads, int blocks, int shared_percent = 0) {
  return limits(threads, min_blocks{.sm90 = blocks}, shared_percent);
}

constexpr int threads_of(std::uint64_t packed) { return static_cast<int>(packed & 2047); }
constexpr int shared_percent_of(std::uint64_t packed) { return static_cast<int>(packed >> 11 & 127); }
// The threads and blocks that fit a multiprocessor: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability". arch: 90 for sm_90.
struct residents {
  int threads;
  int blocks;
};
constexpr residents most_residents(int arch) {
  if (arch < 80) return {1024, 16};
  if (arch < 86) return {2048, 32};
  if (arch < 89) return {1536, 16};
  if (arch < 90) return {1536, 24};
  if (arch < 110) return {2048, 32};
  return {1536, 24};
}

// ptxas ignores more blocks than fit and warns about them, so the number is clamped. Machine code of sm_80 also runs on
// multiprocessors of sm_86 and sm_89, which have 1536 threads. It is correct there, because the number only limits the
// registers of a thread: as many blocks as on sm_80 get their registers, and fewer fit.
constexpr int blocks_of(std::uint64_t packed, int arch) {
  const int slot = arch < 80 ? 0 : arch < 86 ? 1 : arch < 89 ? 2 : arch < 90 ? 3 : arch < 100 ? 4 : arch < 120 ? 5 : 6;
  const int wanted = static_cast<int>(packed >> (18 + 6 * slot) & 63);
  const residents most = most_residents(arch);
  return std::min({wanted, most.blocks, most.threads / threads_of(packed)});
}

}  // namespace cornerturn::gpu
