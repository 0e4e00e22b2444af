// NumPy arrays, through NumPy's C interface: attributes of Python, which a class may replace, are not read.
#pragma once

#include <nanobind/nanobind.h>

#include "axes.hpp"
#include "move.hpp"
#include "terms.hpp"

namespace cornerturn::python::numpy {

// Returns whether x is an ndarray: of the class itself, or also of a derived class.
[[nodiscard]] bool is_array(nb::handle x);
[[nodiscard]] bool is_exactly_array(nb::handle x);

// Effect  copies x with permuted axes to out, or to a new array, of the class that numpy.transpose would return
// Errors  TypeError: elements are Python objects; x is masked; out is not an ndarray, or x or out has a unit. ValueError: out's
//         shape or dtype
nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held);

// Effect  as permute, with arithmetic or a conversion
// Returns a null object if x is not an ndarray of the class itself, or if _arithmetic.py must look at the arguments
// Errors  ValueError: the library refuses the arithmetic
nb::object compute(nb::handle x, const request& asked, nb::handle out, const terms& wanted);

// Effect  transposes the last two axes of x in place: see move.hpp
// Errors  as permute; ValueError: x is read-only
nb::object transpose_in_place(nb::handle x, int threads);

// Returns whether the class of x is numpy.float32 or numpy.float64
[[nodiscard]] bool is_float(nb::handle x);

// Effect  checks the class and the dtype of x, which may run Python code; `name` is x, out or second
// Errors  TypeError: elements are Python objects; x is masked
void check_array(nb::handle x, const char* name);

// Errors  ValueError. May run Python code, which compares types of other packages
void check_equal_dtypes(nb::handle x, nb::handle out);

// Errors  ValueError: x is read-only. May run Python code: some views of NumPy warn
void check_writable(nb::handle x, const char* name);

// Errors  ValueError: out is read-only. TypeError: its class gives a meaning to its numbers, such as a unit
void check_target(nb::handle out, const char* name);

// Returns the memory and layout of an ndarray, as its C struct has them; x owns the extents and strides
[[nodiscard]] view look_at(nb::handle x);

}  // namespace cornerturn::python::numpy
