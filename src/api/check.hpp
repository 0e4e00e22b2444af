// Checks a problem before any arithmetic on its fields. Throws cornerturn::error with a sentence.
#pragma once

#include "cornerturn/problem.hpp"

namespace cornerturn::api {

// Errors  invalid_argument: element_bytes < 1; rank outside 0 ... max_rank; a negative extent
//         overflow: the elements, or the bytes that one side spans, exceed 63 bits
//         overlap: a dst stride of 0 with extent > 1; two elements of dst may share a byte (dst strides must nest: each
//         is larger than the reach of all smaller strides). Both checks also apply to a second destination
//         invalid_argument: math names an unsupported pair of types, or arithmetic that its types do not support; a
//         scale is missing or superfluous; element_bytes is not the size of math.src; an axis has a second stride, but
//         there is no second array; in_place with math that changes elements
void check(const problem& what);

}  // namespace cornerturn::api
