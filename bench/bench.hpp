// The interface of the bench: `cornerturn bench`, and the roof that other subcommands print. docs/measuring.md describes the
// method.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ladder/timing.hpp"

namespace cornerturn::bench {

// Effect  runs `cornerturn bench` with the arguments that follow the word bench. If result_file is not null, it receives the
//         text of the result file, provided that a case was measured
// Errors  returns 0, or 1: a wrong result or a missed bar, 2: usage, 3: this build does not support the device
int main(int argc, const char* const* argv, std::string* result_file = nullptr);

// The libraries that this build links, by the names of their contenders.
[[nodiscard]] std::vector<std::string> linked_peers();

// Effect  returns the GB/s (read + written) of the best copy of `bytes` bytes by `threads` threads, out of cache
// Cost    about a second, and memory for the rotation: at most 40 % of the free memory
double copy_roof_gb_s(std::int64_t bytes, int threads);

// Effect  times ladder/cpu.hpp on one matrix, out of cache. 00_copy is the best of the copies, 90_library is the library.
//         With a name: that rung and 00_copy
// Errors  all errors of making a plan and of plan::execute; std::runtime_error: wrong elements
std::vector<ladder::timing> time_cpu_ladder(const ladder::matrix_shape& shape, int word_bytes, int repetitions,
                                            int threads, std::string_view rung = {});
[[nodiscard]] ladder::timed_on cpu_ladder_here(int threads);

}  // namespace cornerturn::bench
