// Describes this build and this machine, for `cornerturn doctor`, bug reports and tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cornerturn/plan.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

[[nodiscard]] const char* version() noexcept;  // "0.2.0"

struct backend_info {
  device id = device::cpu;
  std::string name;  // "cpu", "cuda", "hip"
  bool present = false;
  std::string detail;  // the devices, or a sentence with the reason why it is absent
};

// Effect  returns one entry for each backend of the project, including absent ones
[[nodiscard]] std::vector<backend_info> backends();

struct kernel_info {
  std::string name;  // such as "gpu_gather_b4"
  std::string backend;
  std::string family;
  int element_bytes = 0;  // 0: any
  std::string note;
};

// Effect  returns the kernels of this build
[[nodiscard]] std::vector<kernel_info> kernel_list();

struct cpu_info {
  std::string model;
  std::string part;  // "25/17/1": family/model/stepping; on Arm implementer/part/variant/revision, in hexadecimal
  std::string simd;  // the SIMD target in use: "AVX-512 (Zen 4)", "AVX2", "NEON", ...
  std::vector<std::string> simd_targets;  // compiled into this build and supported by this machine
  int threads = 0;                        // cores of the affinity mask, and at most the CPU quota of the control group
  int default_threads = 0;                // threads of a call: `threads`, or fewer by OMP_NUM_THREADS
  std::int64_t l1d_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;
  std::int64_t page_bytes = 0;
};
[[nodiscard]] cpu_info cpu();

}  // namespace cornerturn
#pragma GCC visibility pop
