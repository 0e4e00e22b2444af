// NumPy arrays, through NumPy's own C interface: no Python runs between the call and the move.
#pragma once

#include <nanobind/nanobind.h>

#include "axes.hpp"
#include "move.hpp"

namespace cornerturn::python::numpy {

// Whether it is an ndarray: exactly, or of a class that derives from it.
[[nodiscard]] bool is_array(nb::handle x);
[[nodiscard]] bool is_exactly_array(nb::handle x);

// Effect  x, really moved: to out, or to a new ndarray; classes that derive from ndarray count as ndarray
// Errors  TypeError: elements are Python objects; x is masked; out is no ndarray. ValueError: out's shape or dtype
nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held);

// Effect  the last two axes of x trade places in its own memory: see move.hpp
// Errors  as permute; ValueError: x is read-only
nb::object transpose_in_place(nb::handle x);

// Effect  what x is, for a plan
[[nodiscard]] view look_at(nb::handle x);

}  // namespace cornerturn::python::numpy
