// Makes the tensor map of a packed matrix for the tensor memory accelerator.
#pragma once

#include <cstdint>

namespace cornerturn::ladder {

// Effect  fills `map` (128 bytes, aligned to 64) for boxes of box_rows rows of 128 bytes with the 128-byte swizzle
// Returns null, or a reason. It looks the driver's function up at run time, so that the program does not link the
// driver
const char* encode_tensor(void* map, const void* matrix, std::int64_t rows, std::int64_t cols, int word_bytes,
                          int box_rows);

}  // namespace cornerturn::ladder
