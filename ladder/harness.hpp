// Checks and timings of the rungs on a GPU.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "launch.hpp"
#include "timing.hpp"

namespace cornerturn::ladder {

// Returns the GPU vendor of this build, as for --device: "cuda", "hip", or empty.
[[nodiscard]] const char* vendor_device();

// Returns a reason if the rungs cannot run, else an empty string. The other functions require an empty string.
[[nodiscard]] std::string absence();

// Selects the GPU of the other functions. Errors: std::runtime_error: there is no GPU of this number.
void use_device(int ordinal);

// Checks every rung, element size and shape of the list, with unique patterns and guard bytes around a poisoned dst.
// Writes each failure to `out` and returns their number.
int check_rungs(std::ostream& out);

// Times every rung on `shape`, copy first; or the copy and the rung with this name. The caches are cold: the buffers rotate
// through more bytes than the caches hold.
std::vector<timing> time_rungs(const matrix_shape& shape, int word_bytes, int repetitions, std::string_view rung = {});

// Returns the current device for write_json().
[[nodiscard]] timed_on this_device();

// For a profiler: launches each rung once on each shape, and no other kernel. Each line of `out` names a launch: rung,
// element bytes, shape.
void launch_for_profiler(std::ostream& out, const std::vector<const launcher*>& rungs,
                         const std::vector<matrix_shape>& shapes);

}  // namespace cornerturn::ladder
