// The GPU half of the bench, as main.cpp sees it. Only in builds with CUDA: CORNERTURN_BENCH_CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.hpp"

namespace cornerturn::bench {

struct gpu_facts {
  std::string name;  // "NVIDIA H200"
  std::string arch;  // "sm_90"
  int multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::string runtime;  // "13.0": of CUDA, and what the driver supports
  std::string driver;
};

struct gpu_options {
  int rounds = 7;
  int placements = 1;  // so many times all of it, on memory that lies elsewhere
  bool with_peers = false;
  std::string kernel;
  bool regret = false;  // cold cases: every kernel that can be forced too
};

// Errors  std::runtime_error: there is no such device, or no driver
[[nodiscard]] gpu_facts look_at_gpu(int ordinal);

// Effect  false when cuBLAS, the peer of this process, is not found, or does not start
[[nodiscard]] bool gpu_peers_are_found();

// Effect  measures each case; calls done(result, placement) after each. Results of several placements are joined.
//         Stops early, and says why in `failure`, when the device fails
[[nodiscard]] std::vector<result> measure_on_gpu(int ordinal, const std::vector<bench_case>& cases,
                                                 const gpu_options& options,
                                                 const std::function<void(const result&, int)>& done,
                                                 std::string& failure);

}  // namespace cornerturn::bench
