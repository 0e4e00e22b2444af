// The door of the bench: `cornerturn bench` and the roof that other subcommands quote. docs/measuring.md is the method.
#pragma once

#include <cstdint>

namespace cornerturn::bench {

// Effect  runs `cornerturn bench` with the arguments that follow the word bench
// Errors  returns 0, or 1: a wrong result or a missed bar, 2: usage, 3: the device is not in this build
int main(int argc, const char* const* argv);

// Effect  GB/s (read + written) of the best copy of `bytes` bytes that `threads` threads reach here, out of cache
// Cost    about a second, and memory for the rotation: at most 40 % of what is free
double copy_roof_gb_s(std::int64_t bytes, int threads);

}  // namespace cornerturn::bench
