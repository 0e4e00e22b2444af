#include "entry.hpp"

#include <limits>
#include <new>

#include "cornerturn/error.hpp"

namespace cornerturn::python {
namespace {

namespace nb = nanobind;

PyObject* kind_of(status code) {
  switch (code) {
    case status::out_of_memory:
      return PyExc_MemoryError;
    case status::no_device:
    case status::device_error:
    case status::internal:
      return PyExc_RuntimeError;
    default:
      return PyExc_ValueError;
  }
}

bool is_math(PyObject* name) {
  for (const char* text : {"dtype", "alpha", "beta", "conj", "second", "scale", "saturate"}) {
    if (PyUnicode_CompareWithASCIIString(name, text) == 0) return true;
  }
  return false;
}

bool read_threads(PyObject* value, int& threads) {
  const Py_ssize_t found = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (found == -1 && PyErr_Occurred() != nullptr) return false;
  constexpr Py_ssize_t most = std::numeric_limits<int>::max();
  threads = static_cast<int>(found < -1 ? -1 : found > most ? most : found);
  return true;
}

}  // namespace

bool sort(const char* function, const char* how_name, PyObject* const* given, Py_ssize_t count, PyObject* keywords,
          arguments& sorted) {
  const Py_ssize_t most = how_name != nullptr ? 2 : 1;
  if (count > most) {
    PyErr_Format(PyExc_TypeError, "%s takes %zd positional argument%s, found %zd. Wanted: %sstream by name", function,
                 most, most == 1 ? "" : "s", count, sorted.out != nullptr ? "out and " : "");
    return false;
  }
  if (count > 0) sorted.x = given[0];
  if (count > 1) sorted.how = given[1];
  const Py_ssize_t named = keywords != nullptr ? PyTuple_Size(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* const name = PyTuple_GetItem(keywords, k);
    const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    if (sorted.out != nullptr && is("out")) {
      sorted.out = given[count + k];
    } else if (is("stream")) {
      sorted.stream = given[count + k];
    } else if (is("threads")) {
      if (!read_threads(given[count + k], sorted.threads)) return false;
    } else if (sorted.out != nullptr && is_math(name)) {
      if (!sorted.math.is_valid()) sorted.math = nb::dict();
      if (PyDict_SetItem(sorted.math.ptr(), name, given[count + k]) < 0) return false;
    } else if (how_name != nullptr && sorted.how == nullptr && is(how_name)) {
      sorted.how = given[count + k];
    } else {
      PyErr_Format(PyExc_TypeError, "%s has no keyword argument '%U', or found it twice", function, name);
      return false;
    }
  }
  if (sorted.x == nullptr || (how_name != nullptr && sorted.how == nullptr)) {
    PyErr_Format(PyExc_TypeError, "%s is called without the argument %s", function,
                 sorted.x == nullptr ? "x" : how_name);
    return false;
  }
  return true;
}

void set_error(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (nb::python_error& found) {
    found.restore();
  } catch (const error& found) {
    PyErr_SetString(kind_of(found.code()), found.what());
  } catch (const nb::builtin_exception& found) {
    PyErr_SetString(PyExc_TypeError, found.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& found) {
    PyErr_SetString(PyExc_RuntimeError, found.what());
  }
}

}  // namespace cornerturn::python
