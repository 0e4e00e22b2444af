// VGPRs that clang allocates to each rung on AMD GPUs. tools/check_hip --registers writes the table. A test of the HIP
// build compares it with the compiler's remarks.
#pragma once

#include <string_view>

namespace cornerturn::ladder {

// Returns 0 if the table has no such rung or GPU.
[[nodiscard]] int amd_registers(std::string_view rung, int word_bytes, std::string_view arch);

}  // namespace cornerturn::ladder
