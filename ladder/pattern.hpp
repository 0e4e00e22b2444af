// Test data on the device: a bit pattern that differs between elements, and a count of wrong elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "facts.hpp"

namespace cornerturn::ladder {

// Sets element i of the array to the low bytes of a hash of (i, seed). Hashes of 4 bytes and more are unique. Smaller
// elements need several seeds to distinguish two elements.
void fill(void* array, std::int64_t elements, int word_bytes, std::uint32_t seed);

// Returns the number of elements of dst that differ from the transpose of the filled array, or from its copy if
// `copied`.
[[nodiscard]] std::int64_t count_wrong(const void* dst, const matrix_shape& shape, int word_bytes, std::uint32_t seed,
                                       bool copied);

// Returns the number of bytes other than `value`.
[[nodiscard]] std::int64_t count_changed(const void* bytes, std::int64_t count, unsigned char value);

}  // namespace cornerturn::ladder
