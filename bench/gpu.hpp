// The GPU part of the bench, as main.cpp uses it. Only in builds with CUDA: CORNERTURN_BENCH_CUDA.
#pragma once

#include <cstdint>
#include <cstdio>
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
  std::string runtime;  // version of the CUDA runtime: "13.0"
  std::string driver;   // the newest CUDA version that the driver supports
};

struct gpu_options {
  int rounds = 7;
  int placements = 1;  // how often all cases are measured, each time at other addresses of memory
  bool with_peers = false;
  std::string kernel;
  bool regret = false;  // also times every kernel that can be forced
};

// Errors  error no_device: there is no such GPU, or no driver; std::runtime_error: the driver failed
[[nodiscard]] gpu_facts look_at_gpu(int ordinal);

// A library that --peers on times in this process.
struct gpu_peer {
  std::string name;     // of its results: "cutensor"
  std::string version;  // "" if the library does not tell it
  std::string absence;  // the reason why it is not timed; "" if it is
};

// Effect  loads the peers of this process on the current device, and returns all of them, found or not
[[nodiscard]] std::vector<gpu_peer> gpu_peers();

// Effect  measures each case, and calls done(result, placement) after each. Results of several placements are joined. If the
//         device fails, it stops early and sets `failure` to the reason
[[nodiscard]] std::vector<result> measure_on_gpu(int ordinal, const std::vector<bench_case>& cases,
                                                 const gpu_options& options,
                                                 const std::function<void(const result&, int)>& done,
                                                 std::string& failure);

struct dist_outcome {
  bool right = true;  // every element
  std::string json;   // the rows of a list
};
// Effect  measures transposes between all GPUs of this process, with that many bytes on each, for each size of elements and for
//         even and uneven splits, and prints a table
// Errors  error no_device: there are fewer than two GPUs; std::runtime_error: the driver failed
[[nodiscard]] dist_outcome measure_dist(std::int64_t bytes, const std::vector<std::int64_t>& element_bytes, int rounds,
                                        std::FILE* out);

}  // namespace cornerturn::bench
