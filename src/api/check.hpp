// What a problem must fulfil before anything is computed from it. Throws cornerturn::error with a sentence.
#pragma once

#include "cornerturn/problem.hpp"

namespace cornerturn::api {

// Errors  invalid_argument: element_bytes < 1; rank outside 0 ... max_rank; a negative extent; a dst stride of 0 with
// extent > 1
//         overflow: the elements, or the bytes that one side spans, leave 63 bits
//         overlap: two elements of dst may share a byte (dst strides must nest: each at least the reach of all smaller
//         ones); the same of a second destination
//         invalid_argument: math asks for a pair of types that does not exist, for arithmetic that its types do not
//         have, for a scale where none belongs or the other way round; element_bytes is not the size of math.src; an
//         axis has a second stride and there is no second array; in_place together with math that changes elements
void check(const problem& what);

}  // namespace cornerturn::api
