// A CPU as the planner sees it: numbers and names, of this computer or of another one.
#pragma once

#include <cstdint>
#include <string>

namespace cornerturn::base {

// The vector instructions of a CPU, weakest first.
enum class simd_target : std::uint8_t {
  neon,
  sse4,
  avx2,
  avx512,       // stores whole cache lines from registers
  avx512_vbmi,  // selects bytes of two registers, too
};
[[nodiscard]] const char* name(simd_target one) noexcept;  // "AVX-512 VBMI"

struct machine {
  std::string cpu_model;  // "AMD EPYC", "" when unknown
  std::string part;       // "25/17/1", see read_machine(); "" when unknown
  bool amd = false;       // selects a tuning row
  simd_target simd = simd_target::sse4;
  std::int64_t l1d_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;
  std::int64_t page_bytes = 0;
};

// Effect  reads the machine from /proc/cpuinfo and /sys/devices/system/cpu, below the folder `root`. The size of a cache that is not
//         listed there comes from sysconf(), else it is small. `part` is family/model/stepping on x86. On Arm it is
//         implementer/part/variant/revision of MIDR_EL1, in hexadecimal: "41/d40/1/1". `simd` is not set, because it depends on
//         the kernels of the build, too: kernels::this_machine() has it
[[nodiscard]] machine read_machine(const std::string& root = "");

// Returns the machine in one line without "\n": "AMD EPYC (25/17/1, AVX-512 VBMI, caches of 32, 1024 and 32768 KiB)". Two CPUs that
//         differ in speed differ in it: many virtual machines call all CPUs of a vendor by one name
[[nodiscard]] std::string identity(const machine& one);

}  // namespace cornerturn::base
