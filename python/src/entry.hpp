// Module functions as CPython's built-in functions. Unlike nanobind's functions they support pickle, weak references
// (jax.jit needs them) and inspect.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <exception>
#include <span>
#include <utility>

namespace cornerturn::python {

// The arguments of one call. All but `sizes` are borrowed.
struct arguments {
  PyObject* x = nullptr;
  PyObject* how = nullptr;  // axes or pattern; null: not given
  PyObject* out = Py_None;
  PyObject* stream = Py_None;
  PyObject* threads = nullptr;
  PyObject* kernel = Py_None;
  PyObject* measure = Py_False;
  bool has_math = false;      // one of the next seven, of arithmetic, is given
  PyObject* dtype = nullptr;  // null: not given
  PyObject* alpha = nullptr;
  PyObject* beta = nullptr;
  PyObject* conj = nullptr;
  PyObject* second = nullptr;
  PyObject* scale = nullptr;
  PyObject* saturate = nullptr;
  nanobind::object sizes{};  // null, or a dict: the sizes of a pattern's axes by name
};

struct parameter {
  const char* name;
  PyObject* arguments::*value;
  bool has_name = true;  // false: in Python's signature it precedes the slash
};

struct signature {
  const char* function;
  std::span<const parameter> parameters;
  int positional;      // so many of the first parameters may be given without their names; they are null by default
  int required;        // so many of the first parameters must be given
  bool math = false;   // the function also takes the parameters of arithmetic
  bool sizes = false;  // all other names are axes of a pattern
};

// Effect  assigns the arguments of a METH_FASTCALL | METH_KEYWORDS call
// Errors  TypeError: an argument is missing, unknown or given twice
[[nodiscard]] arguments sort(const signature& how, PyObject* const* given, Py_ssize_t count, PyObject* keywords);

// Effect  assigns the arguments of a function that takes a tuple and a dict
[[nodiscard]] arguments sort(const signature& how, const nanobind::args& given, const nanobind::kwargs& named);

// Returns a dict of the given arguments of arithmetic
[[nodiscard]] nanobind::dict math_of(const arguments& given);

// Returns the value of `threads`; 0 for null
// Errors  TypeError: not an integer
[[nodiscard]] int threads_of(nanobind::handle value);

// Effect  sets the Python error for a C++ exception, whose name no user sees
void set_error(const std::exception_ptr& thrown) noexcept;

// Effect  sleeps until the process ends
[[noreturn]] void sleep_until_exit() noexcept;

// Effect  calls body(), in which this thread may wait for the interpreter's lock. When the interpreter has ended, Python
//         before 3.14 ends such a thread by an unwinding that is no C++ exception. It would run destructors without the
//         lock, and end the process at the first noexcept function. The thread sleeps instead, as Python 3.14 does it
template <class Body>
decltype(auto) until_exit(const Body& body) {
#ifdef __GLIBCXX__
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    sleep_until_exit();
  }
#else
  return body();
#endif
}

// Effect  releases the interpreter's lock, calls body(), and takes the lock again
template <class Body>
void without_lock(const Body& body) {
  PyThreadState* const state = PyEval_SaveThread();
  std::exception_ptr thrown;
  try {
    body();
  } catch (const std::exception&) {
    thrown = std::current_exception();
  }
  until_exit([&] { PyEval_RestoreThread(state); });  // not within a handler: an unwinding there ends the process
  if (thrown) std::rethrow_exception(thrown);
}

// Returns a function object for nanobind that calls `function` as until_exit does
template <class Result, class... Arguments>
auto entered(Result (*function)(Arguments...)) {
  return [function](Arguments... given) -> Result {
    return until_exit([&]() -> Result { return function(std::forward<Arguments>(given)...); });
  };
}

}  // namespace cornerturn::python
