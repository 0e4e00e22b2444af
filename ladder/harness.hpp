// What the ladder's program does with the rungs on a GPU.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "launch.hpp"
#include "timing.hpp"

namespace cornerturn::ladder {

// The GPU vendor of this build as --device names it: "cuda", "hip", or empty.
[[nodiscard]] const char* vendor_device();

// Empty where the rungs can run, else why not. The other functions want it empty.
[[nodiscard]] std::string absence();

// Every rung, every size of element, every shape of the list: guard bytes round a poisoned dst, unique patterns.
// Returns the number of failures, each of which it has written to `out`.
int check_rungs(std::ostream& out);

// Every rung on `shape`, copy first. The caches are cold: the buffers rotate through more bytes than they hold.
std::vector<timing> time_rungs(const matrix_shape& shape, int word_bytes, int repetitions);

// What write_json() wants to know of the current device.
[[nodiscard]] timed_on this_device();

// For a profiler: each rung on each shape, one launch each, and nothing else. The order is that of the lines on `out`:
// rung, element bytes, shape.
void launch_for_profiler(std::ostream& out, const std::vector<const launcher*>& rungs,
                         const std::vector<matrix_shape>& shapes);

}  // namespace cornerturn::ladder
