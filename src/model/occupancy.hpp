// Resident blocks of a multiprocessor, the bytes that they keep in flight, and the time that DRAM needs at least.
// A table of architectures answers without a GPU or a toolkit. A test compares the NVIDIA rows with the toolkit's
// cuda_occupancy.h where that is found. The HIP build compares the AMD rows with the compiler's remarks.
//
// AMD's words: block = workgroup; multiprocessor = compute unit (CDNA) or workgroup processor, two compute units (RDNA);
// register of a thread = VGPR; shared memory = LDS.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/access.hpp"

namespace cornerturn::model {

enum class vendor { nvidia, amd };

struct architecture {
  const char* name;     // sm_90, gfx90a
  const char* product;  // whose multiprocessors and DRAM the last two columns are of
  int threads;          // of a multiprocessor, at most
  int blocks;
  int shared_bytes;           // of a multiprocessor
  int shared_bytes_of_block;  // that a block may ask for
  int reserved_bytes;         // of shared memory, taken from each block by the driver
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
// Null when the table has no such name.
[[nodiscard]] const architecture* find_architecture(std::string_view name);

struct block_needs {
  int threads = 256;
  int registers = 32;  // of a thread
  int shared_bytes = 0;
};

struct residency {
  int blocks = 0;  // 0: such a block does not fit at all
  double occupancy = 0;
  const char* limit = "";  // the resource that runs out first: threads, blocks, registers, shared memory
};
[[nodiscard]] residency residency_of(const architecture& machine, const block_needs& needs);

// The most registers per thread with which `blocks` blocks fit. Launch bounds give the compiler this limit.
[[nodiscard]] int registers_for(const architecture& machine, int threads, int blocks);

// Bytes that all multiprocessors must have asked for to keep DRAM busy: bandwidth x latency.
// The latency under load is about 0.8 us on what was measured (A100, H100 and H200 literature says 0.6 to 1).
[[nodiscard]] double needed_in_flight(const architecture& machine);

// Every byte read once and written once at the data sheet's rate, in seconds.
[[nodiscard]] double dram_floor(const architecture& machine, std::int64_t bytes_one_way);

}  // namespace cornerturn::model
