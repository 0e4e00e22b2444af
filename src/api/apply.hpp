// Checks the operands of a problem with math: null pointers and overlaps.
#pragma once

#include <string>

#include "cornerturn/plan.hpp"
#include "kernels/op.hpp"
#include "map/canonical.hpp"

namespace cornerturn::api {

// Errors  invalid_argument: math needs second, second_dst or scale and it is null, or math does not and it is not null
void check_operands(const operands& all, const arithmetic& math);

// One array of a call: the bytes that the call may use, relative to its pointer.
struct side {
  const char* name;
  const void* at;
  map::byte_span span;
};

// Errors  overlap: both arrays have a byte
void check_apart(const side& one, const side& other);

// Errors  overlap: dst or second_dst shares a byte with another array or with the scale. A second source may be dst if their strides are
//         equal
// Requires  pointers that check_operands accepts
void check_overlap_of_second(const operands& all, const kernels::op& math, const map::canonical& form);

// Returns a text for explain(): "float32 to float16, alpha 2, beta 1 of dst, ..."
[[nodiscard]] std::string text_of(const arithmetic& math);

}  // namespace cornerturn::api
