// Test data on the device: a bit pattern that tells every element from its neighbours, and a count of wrong ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "facts.hpp"

namespace cornerturn::ladder {

// Element i of the array gets the low bytes of a hash of (i, seed): unique for 4 bytes and more; for fewer, several
// seeds tell two elements apart.
void fill(void* array, std::int64_t elements, int word_bytes, std::uint32_t seed);

// How many elements of dst are not what the transposition of the filled array has there; of its copy if `copied`.
[[nodiscard]] std::int64_t count_wrong(const void* dst, const matrix_shape& shape, int word_bytes, std::uint32_t seed,
                                       bool copied);

// How many of the bytes are not `value`.
[[nodiscard]] std::int64_t count_changed(const void* bytes, std::int64_t count, unsigned char value);

}  // namespace cornerturn::ladder
