// A GPU as offers see it: numbers, and the words of its language. Only kernels/cuda, kernels/hip and api/device.* know vendors.
#pragma once

#include <cstdint>

namespace cornerturn::kernels {

// Functions of kernels/<vendor>/lang.cuh that not every vendor has; lang.cuh says which. A family that needs an absent one makes no
// offer.
struct lang_words {
  bool async_copies = true;  // from global to shared memory
  bool block_flags = true;   // between the blocks of a launch
  bool small_floats = true;  // conversions from and to floats of 8 and 16 bits
};

enum class gpu_vendor : std::uint8_t { nvidia, amd };

inline constexpr int most_lanes = 64;  // of a warp, on any GPU

struct gpu_traits {
  gpu_vendor vendor = gpu_vendor::nvidia;  // for the table of machines
  int arch = 0;                            // in the vendor's numbers: 90 for sm_90
  lang_words words{};
  int lanes = 32;  // of a warp
  int multiprocessors = 1;
  int registers = 65536;                 // of a multiprocessor, of 32 bits
  std::int64_t shared_bytes = 48 << 10;  // of a block, at most
  std::int64_t multiprocessor_shared_bytes = 48 << 10;
  std::int64_t l2_bytes = 0;     // 0: unknown
  int sector_bytes = 32;         // the least that DRAM transfers
  int line_bytes = 128;          // of a cache
  int store_bytes = 32;          // dst is stored in whole units: sectors, or lines where a link stores them
  double copy_bytes_per_us = 0;  // of both sides; 0: the table of machines has it
};

}  // namespace cornerturn::kernels
