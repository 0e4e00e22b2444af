// What execute is handed where a problem has math: is all of it there, and does nothing lie on anything else.
#pragma once

#include <string>

#include "cornerturn/plan.hpp"
#include "kernels/op.hpp"
#include "map/canonical.hpp"

namespace cornerturn::api {

// Errors  invalid_argument: second, second_dst or scale is null where math wants it, or given where it does not
void check_operands(const operands& all, const arithmetic& math);

// Errors  overlap: dst or second_dst shares a byte with another array; a second source may be dst if their strides are
//         the same
// Requires  pointers that check_operands accepts
void check_overlap_of_second(const operands& all, const kernels::op& math, const map::canonical& form);

// "float32 to float16, alpha 2, beta of dst 1, ...": for explain().
[[nodiscard]] std::string text_of(const arithmetic& math);

}  // namespace cornerturn::api
