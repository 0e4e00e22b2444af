// The interface of the bench: `cornerturn bench`, and the roof that other subcommands print. docs/measuring.md describes the
// method.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/calibrate.hpp"  // IWYU pragma: export
#include "ladder/timing.hpp"

namespace cornerturn::bench {

struct outcome {
  int code = 0;      // 0, or 1: a wrong result, a missed bar, or the GPU failed
  std::string file;  // the text of the result file; with arguments::list the list of cases, as JSON
};

// Effect  measures the chosen cases and prints their tables to `out`. `argv` is the command line for the result file. With
//         arguments::list it prints the names of the cases, unless `out` is null
// Errors  std::invalid_argument: the request is wrong; error: a forced kernel cannot run a case; no_device: there is no such
//         GPU, or this build has no CUDA
outcome run(const arguments& given, const std::vector<std::string>& argv, std::FILE* out);

// The libraries that this build links, by the names of their contenders.
[[nodiscard]] std::vector<std::string> linked_peers();

// Effect  returns the GB/s (read + written) of the best copy of `bytes` bytes, out of cache: by `threads` threads of the CPU,
//         or in the memory of GPU number `gpu`
// Errors  error no_device: as run()
// Cost    about a second, and memory for the rotation: at most 40 % of the free memory
double copy_roof_gb_s(std::int64_t bytes, int threads, int gpu = -1);

// Effect  times ladder/cpu.hpp on one matrix, out of cache. 00_copy is the best of the copies, 90_library is the library.
//         With a name: that rung and 00_copy
// Errors  all errors of making a plan and of plan::execute; std::runtime_error: wrong elements
std::vector<ladder::timing> time_cpu_ladder(const ladder::matrix_shape& shape, int word_bytes, int repetitions,
                                            int threads, std::string_view rung = {});
[[nodiscard]] ladder::timed_on cpu_ladder_here(int threads);

}  // namespace cornerturn::bench
