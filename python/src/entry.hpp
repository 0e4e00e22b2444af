// A function of the module that is CPython's own kind of function: unlike nanobind's, it can be pickled, referenced
// weakly (jax.jit does) and inspected.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

namespace cornerturn::python {

// What f(x, /, how, *, out=None, stream=None) was called with; `how` and `out` are null where the function has none.
struct arguments {
  PyObject* x = nullptr;
  PyObject* how = nullptr;
  PyObject* out = Py_None;
  PyObject* stream = Py_None;
};

// Effect  sorts what METH_FASTCALL | METH_KEYWORDS hands over; how_name is null where the function has no `how`, and
//         sorted.out before the call where it has no `out`
// Returns false with a Python error set: an argument is missing, or is one too many
[[nodiscard]] bool sort(const char* function, const char* how_name, PyObject* const* given, Py_ssize_t count,
                        PyObject* keywords, arguments& sorted);

// Effect  sets the Python error for an exception of C++
void set_error(const std::exception_ptr& thrown) noexcept;

}  // namespace cornerturn::python
