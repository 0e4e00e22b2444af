#include "model/occupancy.hpp"

#include <algorithm>

namespace cornerturn::model {
namespace {

constexpr int kib = 1024;

constexpr architecture nvidia(const char* name, const char* product, int threads, int blocks, int shared, int of_block,
                              int reserved, int granularity, int multiprocessors, double bandwidth, int compute) {
  architecture made{name,     product,  threads,     blocks,          shared,
                    of_block, reserved, granularity, multiprocessors, bandwidth};
  made.has_async_copy = compute >= 80;
  made.has_tensor_memory = compute >= 90;
  return made;
}

// Wavefronts have `lanes` lanes; each of four SIMDs has `vgprs` registers per lane. LDS is allocated in units of 512
// bytes. Barriers limit the number of workgroups. A workgroup of one wavefront needs no barrier, so the limit does not
// apply. Sources: LLVM, "User Guide for AMDGPU Backend" and llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp (registers,
// wavefronts, barriers, LDS); AMD's data sheets (units, DRAM); cache lines: ROCm Compute Profiler, "Vector L1 cache"
// (64 bytes, MI200), the CDNA 3 and RDNA white papers (128 bytes).
constexpr architecture amd(const char* name, const char* product, int lanes, int line_bytes, int wavefronts, int vgprs,
                           int granularity, int most_vgprs, int workgroups, int lds, int units, double bandwidth) {
  architecture made{name,      product,    4 * wavefronts * lanes, workgroups, lds, 64 * kib, 0, 512, units,
                    bandwidth, vendor::amd};
  made.rules = {lanes, line_bytes, phase_rule::amd};
  made.registers = 4 * vgprs * lanes;
  made.register_granularity = granularity;
  made.most_registers = most_vgprs;
  made.has_async_copy = false;
  made.counted = false;
  return made;
}

// Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; data sheets of the products.
constexpr architecture table[] = {
    nvidia("sm_75", "T4", 1024, 16, 64 * kib, 64 * kib, 0, 256, 40, 320, 75),
    nvidia("sm_80", "A100 SXM 80 GB", 2048, 32, 164 * kib, 163 * kib, kib, 128, 108, 2039, 80),
    nvidia("sm_86", "A10", 1536, 16, 100 * kib, 99 * kib, kib, 128, 72, 600, 86),
    nvidia("sm_87", "Jetson AGX Orin", 1536, 16, 164 * kib, 163 * kib, kib, 128, 16, 204.8, 87),
    nvidia("sm_89", "L40S", 1536, 24, 100 * kib, 99 * kib, kib, 128, 142, 864, 89),
    nvidia("sm_90", "H200 SXM", 2048, 32, 228 * kib, 227 * kib, kib, 128, 132, 4800, 90),
    nvidia("sm_100", "B200", 2048, 32, 228 * kib, 227 * kib, kib, 128, 148, 8000, 100),
    nvidia("sm_103", "B300", 2048, 32, 228 * kib, 227 * kib, kib, 128, 148, 8000, 103),
    nvidia("sm_110", "Jetson T5000", 1536, 24, 228 * kib, 227 * kib, kib, 128, 20, 273, 110),
    nvidia("sm_120", "RTX 5090", 1536, 24, 100 * kib, 99 * kib, kib, 128, 170, 1792, 120),
    amd("gfx90a", "MI250X, one of its two dies", 64, 64, 8, 512, 8, 512, 16, 64 * kib, 110, 1638.4),
    amd("gfx942", "MI300X", 64, 128, 8, 512, 8, 512, 16, 64 * kib, 304, 5300),
    amd("gfx1030", "RX 6900 XT", 32, 128, 16, 1024, 16, 256, 32, 128 * kib, 40, 512),
    amd("gfx1100", "RX 7900 XTX", 32, 128, 16, 1536, 24, 256, 32, 128 * kib, 48, 960),
};

constexpr int partitions = 4;  // per multiprocessor (AMD: SIMDs); the registers of a warp are in one partition
constexpr double latency_seconds = 0.8e-6;  // latency of DRAM under load

constexpr int round_up(int value, int to) { return (value + to - 1) / to * to; }

}  // namespace

std::span<const architecture> architectures() { return table; }

const architecture* find_architecture(std::string_view name) {
  const auto* const found = std::ranges::find_if(table, [&](const architecture& one) { return one.name == name; });
  return found == std::end(table) ? nullptr : found;
}

residency residency_of(const architecture& machine, const block_needs& needs) {
  const int lanes = machine.rules.lanes;
  const int warps = (needs.threads + lanes - 1) / lanes;
  const int registers_of_warp = round_up(needs.registers, machine.register_granularity) * lanes;
  const bool too_many_registers = registers_of_warp * round_up(warps, partitions) > machine.registers;
  if (needs.shared_bytes > machine.shared_bytes_of_block) return {0, 0, "shared memory"};
  if (too_many_registers) return {0, 0, "registers"};
  residency made{machine.threads / lanes / warps, 0, "threads"};
  const auto limit = [&made](int blocks, const char* name) {
    if (blocks < made.blocks) made.blocks = blocks, made.limit = name;
  };
  if (machine.maker != vendor::amd || warps > 1) limit(machine.blocks, "blocks");
  if (registers_of_warp > 0) {
    limit(machine.registers / partitions / registers_of_warp * partitions / warps, "registers");
  }
  const int shared = round_up(needs.shared_bytes + machine.reserved_bytes, machine.shared_granularity);
  if (shared > 0) limit(machine.shared_bytes / shared, "shared memory");
  made.occupancy = static_cast<double>(made.blocks * warps * lanes) / machine.threads;
  return made;
}

int registers_for(const architecture& machine, int threads, int blocks) {
  const int lanes = machine.rules.lanes;
  const int warps = (threads + lanes - 1) / lanes * std::max(blocks, 1);
  const int of_thread = machine.registers / round_up(warps, partitions) / lanes;
  return std::min(of_thread / machine.register_granularity * machine.register_granularity, machine.most_registers);
}

double needed_in_flight(const architecture& machine) {
  return machine.dram_gigabytes_per_second * 1e9 * latency_seconds;
}

double dram_floor(const architecture& machine, std::int64_t bytes_one_way) {
  return 2 * static_cast<double>(bytes_one_way) / (machine.dram_gigabytes_per_second * 1e9);
}

}  // namespace cornerturn::model
