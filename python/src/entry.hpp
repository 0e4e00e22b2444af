// Module functions as CPython's built-in functions. Unlike nanobind's functions they support pickle, weak references
// (jax.jit needs them) and inspect.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

namespace cornerturn::python {

// The arguments of f(x, /, how, *, out=None, stream=None, threads=0, **math). `how` or `out` is null if the function lacks
// it. Functions without `out` have no arithmetic.
struct arguments {
  PyObject* x = nullptr;
  PyObject* how = nullptr;
  PyObject* out = Py_None;
  PyObject* stream = Py_None;
  int threads = 0;
  nanobind::object math{};  // null, or a dict: dtype, alpha, beta, conj, second, scale, saturate
};

// Effect  assigns the arguments of a METH_FASTCALL | METH_KEYWORDS call. A null how_name means no parameter `how`.
//         A null sorted.out before the call means no parameter `out`
// Returns false, with a Python error set, if an argument is missing or superfluous, or threads is not an integer
[[nodiscard]] bool sort(const char* function, const char* how_name, PyObject* const* given, Py_ssize_t count,
                        PyObject* keywords, arguments& sorted);

// Effect  sets the Python error for a C++ exception
void set_error(const std::exception_ptr& thrown) noexcept;

}  // namespace cornerturn::python
