// The arguments of arithmetic that need no Python code. The gates of numpy.cpp and torch.cpp start with them.
//
// A gate accepts a call whose arguments are all usual. It rejects any other call, which may be wrong: _arithmetic.py then
// checks it and raises its errors. So a gate has no sentences and no order of checks of its own.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "cornerturn/arithmetic.hpp"
#include "entry.hpp"

namespace cornerturn::python {

namespace nb = nanobind;

struct terms {
  arithmetic math{};                      // alpha, beta, conj and saturate
  nb::handle dtype{}, second{}, scale{};  // invalid: not given
  bool has_out = false;

  // Returns whether the call only copies, unless `dtype` differs from the type of x
  [[nodiscard]] bool only_copies() const;

  // Returns the arithmetic for these element types, or nothing if _arithmetic.py must look at the call
  [[nodiscard]] std::optional<arithmetic> with_types(element_type src, element_type dst) const;
};

// Returns nothing if an argument is not a number, a bool or None where these are usual
[[nodiscard]] std::optional<terms> terms_of(const arguments& given);

// Returns a number of Python's classes int, float and bool, or of NumPy's classes float32 and float64
[[nodiscard]] std::optional<double> real_of(nb::handle number);

// Returns `scale` as a float32, and 1 if it is not given; nothing: it is no number or is too large
[[nodiscard]] std::optional<float> factor_of(const terms& given);

}  // namespace cornerturn::python
