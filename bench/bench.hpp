// The door of the bench: `cornerturn bench` and the roof that other subcommands quote. docs/measuring.md is the method.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ladder/timing.hpp"

namespace cornerturn::bench {

// Effect  runs `cornerturn bench` with the arguments that follow the word bench
// Errors  returns 0, or 1: a wrong result or a missed bar, 2: usage, 3: the device is not in this build
//         A result_file that is not null gets the text of the result file, if there was something to measure
int main(int argc, const char* const* argv, std::string* result_file = nullptr);

// The libraries that this build links, by the names of their contenders.
[[nodiscard]] std::vector<std::string> linked_peers();

// Effect  GB/s (read + written) of the best copy of `bytes` bytes that `threads` threads reach here, out of cache
// Cost    about a second, and memory for the rotation: at most 40 % of what is free
double copy_roof_gb_s(std::int64_t bytes, int threads);

// Effect  times ladder/cpu.hpp on one matrix, cold: 00_copy is the best of the copies, 90_library the library
// Errors  those of the library's plan and execute; std::runtime_error: wrong elements
std::vector<ladder::timing> time_cpu_ladder(const ladder::matrix_shape& shape, int word_bytes, int repetitions,
                                            int threads);
[[nodiscard]] ladder::timed_on cpu_ladder_here(int threads);

}  // namespace cornerturn::bench
