// How many blocks a multiprocessor holds, and what that keeps in flight; and how fast DRAM lets a transpose be at all.
// A table of architectures, so that the answer needs neither a GPU nor a toolkit. Where the toolkit's cuda_occupancy.h
// is found, a test holds the two against each other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cornerturn::model {

struct architecture {
  const char* name;     // sm_90
  const char* product;  // whose multiprocessors and DRAM the last two columns are of
  int threads;          // of a multiprocessor, at most
  int blocks;
  int shared_bytes;           // of a multiprocessor
  int shared_bytes_of_block;  // that a block may ask for
  int reserved_bytes;         // of shared memory, taken from each block by the driver
  int shared_granularity;
  int multiprocessors;
  double dram_gigabytes_per_second;
};

inline constexpr int registers_of_multiprocessor = 65536;

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
  const char* limit = "";  // what ends first: threads, blocks, registers, shared memory
};
[[nodiscard]] residency residency_of(const architecture& machine, const block_needs& needs);

// Registers of a thread that the compiler may use at most when `blocks` blocks have to fit.
[[nodiscard]] int registers_for(int threads, int blocks);

// Bytes that all multiprocessors must have asked for to keep DRAM busy: bandwidth x latency.
// The latency under load is about 0.8 us on what was measured (A100, H100 and H200 literature says 0.6 to 1).
[[nodiscard]] double needed_in_flight(const architecture& machine);

// Every byte read once and written once at the data sheet's rate, in seconds.
[[nodiscard]] double dram_floor(const architecture& machine, std::int64_t bytes_one_way);

}  // namespace cornerturn::model
