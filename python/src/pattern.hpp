// Patterns of rearrange, in the syntax of einops: names of axes on both sides of "->".
//
//   a name        one axis
//   ...           all axes without a name
//   (h w)         one axis, split into axes h and w on the left, or joined of them on the right
//   1, ()         an axis of extent 1
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "axes.hpp"

namespace cornerturn::python {

// Returns whether a pattern has parentheses or a 1. It then does more than to permute axes.
[[nodiscard]] bool splits_or_joins(std::string_view pattern);

// Returns the axes of a pattern that only permutes them
// Errors  ValueError: the pattern is invalid, splits or joins axes, or has another rank
[[nodiscard]] axis_list axes_of_pattern(std::string_view pattern, int rank);

// Returns a tuple of (parts, axes, joins). x is split: parts[k] has the names of the parts of axis k of x, "" for an axis
// without a name. The parts are permuted: part k of the result is part axes[k]. They are joined: joins[k] is the number of
// parts of axis k of the result
// Errors  ValueError: the pattern is invalid or has another rank
[[nodiscard]] nb::tuple parts_of_pattern(std::string_view pattern, int rank);

}  // namespace cornerturn::python
