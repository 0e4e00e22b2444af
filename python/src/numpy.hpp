// NumPy arrays, through NumPy's C interface: no Python code runs between the call and the copy.
#pragma once

#include <nanobind/nanobind.h>

#include "axes.hpp"
#include "move.hpp"

namespace cornerturn::python::numpy {

// Returns whether x is an ndarray: of the class itself, or also of a derived class.
[[nodiscard]] bool is_array(nb::handle x);
[[nodiscard]] bool is_exactly_array(nb::handle x);

// Effect  copies x with permuted axes to out, or to a new ndarray; derived classes of ndarray are accepted
// Errors  TypeError: elements are Python objects; x is masked; out is not an ndarray. ValueError: out's shape or dtype
nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held);

// Effect  transposes the last two axes of x in place: see move.hpp
// Errors  as permute; ValueError: x is read-only
nb::object transpose_in_place(nb::handle x, int threads);

// Effect  returns the memory and layout of x, for a plan or a batch; `name` is x or out, for error sentences
[[nodiscard]] view look_at(nb::handle x, const char* name);

}  // namespace cornerturn::python::numpy
