// Module functions as CPython's built-in functions. Unlike nanobind's functions they support pickle, weak references
// (jax.jit needs them) and inspect.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <span>

namespace cornerturn::python {

// The arguments of one call. All but `math` are borrowed.
struct arguments {
  PyObject* x = nullptr;
  PyObject* how = nullptr;  // axes or pattern; null: not given
  PyObject* out = Py_None;
  PyObject* stream = Py_None;
  PyObject* threads = nullptr;
  PyObject* kernel = Py_None;
  nanobind::object math{};  // null, or a dict: dtype, alpha, beta, conj, second, scale, saturate
};

struct parameter {
  const char* name;
  PyObject* arguments::*value;
  bool has_name = true;  // false: in Python's signature it precedes the slash
};

struct signature {
  const char* function;
  std::span<const parameter> parameters;
  int positional;     // so many of the first parameters may be given without their names; they are null by default
  int required;       // so many of the first parameters must be given
  bool math = false;  // the function also takes the parameters of arithmetic
};

// Effect  assigns the arguments of a METH_FASTCALL | METH_KEYWORDS call
// Errors  TypeError: an argument is missing, unknown or given twice
[[nodiscard]] arguments sort(const signature& how, PyObject* const* given, Py_ssize_t count, PyObject* keywords);

// Effect  assigns the arguments of a function that takes a tuple and a dict
[[nodiscard]] arguments sort(const signature& how, const nanobind::args& given, const nanobind::kwargs& named);

// Returns the value of `threads`; 0 for null
// Errors  TypeError: not an integer
[[nodiscard]] int threads_of(nanobind::handle value);

// Effect  sets the Python error for a C++ exception
void set_error(const std::exception_ptr& thrown) noexcept;

}  // namespace cornerturn::python
