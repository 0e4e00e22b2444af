// Resident blocks of a multiprocessor, bytes in flight, and the minimum time of DRAM, from a table of architectures.
// The table needs no GPU and no toolkit. If the toolkit's cuda_occupancy.h is found, a test compares the NVIDIA rows
// with it. The HIP build compares the AMD rows with the compiler's remarks.
//
// AMD's words: block = workgroup; multiprocessor = compute unit (CDNA) or workgroup processor, two compute units
// (RDNA); register of a thread = VGPR; shared memory = LDS.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/access.hpp"

namespace cornerturn::model {

enum class vendor { nvidia, amd };

struct architecture {
  const char* name;     // sm_90, gfx90a
  const char* product;  // product that has these multiprocessors and this DRAM
  int threads;          // maximum per multiprocessor
  int blocks;
  int shared_bytes;           // per multiprocessor
  int shared_bytes_of_block;  // maximum per block
  int reserved_bytes;         // shared memory that the driver reserves per block
  int shared_granularity;
  int multiprocessors;
  double dram_gigabytes_per_second;
  vendor maker = vendor::nvidia;
  memory_rules rules{};
  int registers = 65536;         // 32-bit registers per multiprocessor
  int register_granularity = 8;  // per thread
  int most_registers = 255;      // per thread
  bool has_async_copy = true;    // from global to shared memory without registers
  bool has_tensor_memory = false;
  bool counted = true;  // a profiler has confirmed the model's counts
};

[[nodiscard]] std::span<const architecture> architectures();
// Returns null if the table has no such name.
[[nodiscard]] const architecture* find_architecture(std::string_view name);

struct block_needs {
  int threads = 256;
  int registers = 32;  // per thread
  int shared_bytes = 0;
};

struct residency {
  int blocks = 0;  // 0: one block exceeds a limit
  double occupancy = 0;
  const char* limit = "";  // the resource that is exhausted first: threads, blocks, registers, shared memory
};
[[nodiscard]] residency residency_of(const architecture& machine, const block_needs& needs);

// Returns the maximum registers per thread for `blocks` resident blocks. Launch bounds give the compiler this limit.
[[nodiscard]] int registers_for(const architecture& machine, int threads, int blocks);

// Returns the bytes that must be in flight on all multiprocessors to keep DRAM busy: bandwidth x latency.
// The latency under load is 0.8 us (literature on A100, H100 and H200: 0.6 to 1 us).
[[nodiscard]] double needed_in_flight(const architecture& machine);

// Returns the seconds to read and write every byte once at the data sheet's rate.
[[nodiscard]] double dram_floor(const architecture& machine, std::int64_t bytes_one_way);

}  // namespace cornerturn::model
