#include "model/occupancy.hpp"

#include <algorithm>

namespace cornerturn::model {
namespace {

constexpr int kib = 1024;

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; products by their data sheets.
constexpr architecture table[] = {
    {"sm_75", "T4", 1024, 16, 64 * kib, 64 * kib, 0, 256, 40, 320},
    {"sm_80", "A100 SXM 80 GB", 2048, 32, 164 * kib, 163 * kib, kib, 128, 108, 2039},
    {"sm_86", "A10", 1536, 16, 100 * kib, 99 * kib, kib, 128, 72, 600},
    {"sm_87", "Jetson AGX Orin", 1536, 16, 164 * kib, 163 * kib, kib, 128, 16, 204.8},
    {"sm_89", "L40S", 1536, 24, 100 * kib, 99 * kib, kib, 128, 142, 864},
    {"sm_90", "H200 SXM", 2048, 32, 228 * kib, 227 * kib, kib, 128, 132, 4800},
    {"sm_100", "B200", 2048, 32, 228 * kib, 227 * kib, kib, 128, 148, 8000},
    {"sm_103", "B300", 2048, 32, 228 * kib, 227 * kib, kib, 128, 148, 8000},
    {"sm_110", "Jetson T5000", 1536, 24, 228 * kib, 227 * kib, kib, 128, 20, 273},
    {"sm_120", "RTX 5090", 1536, 24, 100 * kib, 99 * kib, kib, 128, 170, 1792},
};

constexpr int partitions = 4;               // of a multiprocessor; a warp's registers are all in one
constexpr int register_granularity = 256;   // of a warp
constexpr int most_registers = 255;         // of a thread
constexpr double latency_seconds = 0.8e-6;  // of DRAM, under load

constexpr int round_up(int value, int to) { return (value + to - 1) / to * to; }

}  // namespace

std::span<const architecture> architectures() { return table; }

const architecture* find_architecture(std::string_view name) {
  const auto* const found = std::ranges::find_if(table, [&](const architecture& one) { return one.name == name; });
  return found == std::end(table) ? nullptr : found;
}

residency residency_of(const architecture& machine, const block_needs& needs) {
  const int warps = (needs.threads + 31) / 32;
  const int registers_of_warp = round_up(needs.registers * 32, register_granularity);
  const bool too_many_registers = registers_of_warp * round_up(warps, partitions) > registers_of_multiprocessor;
  if (needs.shared_bytes > machine.shared_bytes_of_block) return {0, 0, "shared memory"};
  if (too_many_registers) return {0, 0, "registers"};
  residency made{machine.threads / 32 / warps, 0, "threads"};
  const auto limit = [&made](int blocks, const char* name) {
    if (blocks < made.blocks) made.blocks = blocks, made.limit = name;
  };
  limit(machine.blocks, "blocks");
  if (registers_of_warp > 0) {
    limit(registers_of_multiprocessor / partitions / registers_of_warp * partitions / warps, "registers");
  }
  const int shared = round_up(needs.shared_bytes + machine.reserved_bytes, machine.shared_granularity);
  if (shared > 0) limit(machine.shared_bytes / shared, "shared memory");
  made.occupancy = static_cast<double>(made.blocks * warps * 32) / machine.threads;
  return made;
}

int registers_for(int threads, int blocks) {
  const int warps = (threads + 31) / 32 * std::max(blocks, 1);
  const int of_warp = registers_of_multiprocessor / round_up(warps, partitions) / register_granularity;
  return std::min(of_warp * register_granularity / 32, most_registers);
}

double needed_in_flight(const architecture& machine) {
  return machine.dram_gigabytes_per_second * 1e9 * latency_seconds;
}

double dram_floor(const architecture& machine, std::int64_t bytes_one_way) {
  return 2 * static_cast<double>(bytes_one_way) / (machine.dram_gigabytes_per_second * 1e9);
}

}  // namespace cornerturn::model
