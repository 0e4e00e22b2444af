// What a problem must fulfil before anything is computed from it. Throws cornerturn::error with a sentence.
#pragma once

#include "cornerturn/problem.hpp"

namespace cornerturn::api {

// Errors  invalid_argument: element_bytes < 1; rank outside 0 ... max_rank; a negative extent; a dst stride of 0 with
// extent > 1
//         overflow: the elements, or the bytes that one side spans, leave 63 bits
//         overlap: two elements of dst may share a byte (dst strides must nest: each at least the reach of all smaller
//         ones)
void check(const problem& what);

}  // namespace cornerturn::api
