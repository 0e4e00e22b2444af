// Makes the map of a packed matrix that the tensor memory accelerator reads.
#pragma once

#include <cstdint>

namespace cornerturn::ladder {

// Effect  fills `map`, 128 bytes at a multiple of 64, for boxes of box_rows rows of 128 bytes with the 128-byte swizzle
// Returns null, or why not. The driver's function is looked up, so nothing links the driver
const char* encode_tensor(void* map, const void* matrix, std::int64_t rows, std::int64_t cols, int word_bytes,
                          int box_rows);

}  // namespace cornerturn::ladder
