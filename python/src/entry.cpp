#include "entry.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "cornerturn/error.hpp"
#include "text.hpp"

namespace cornerturn::python {
namespace {

namespace nb = nanobind;

PyObject* exception_of(status code) {
  switch (code) {
    case status::out_of_memory:
      return PyExc_MemoryError;
    case status::no_device:
    case status::device_error:
    case status::internal:
      return PyExc_RuntimeError;
    case status::io_error:
      return PyExc_OSError;
    default:
      return PyExc_ValueError;
  }
}

constexpr std::array math_parameters{
    parameter{"dtype", &arguments::dtype},       parameter{"alpha", &arguments::alpha},
    parameter{"beta", &arguments::beta},         parameter{"conj", &arguments::conj},
    parameter{"second", &arguments::second},     parameter{"scale", &arguments::scale},
    parameter{"saturate", &arguments::saturate},
};

bool is(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

[[noreturn]] void refuse(const signature& how, const std::string& rest) {
  throw nb::type_error((std::string(how.function) + rest).c_str());
}

[[noreturn]] void refuse_name(const signature& how, const std::string& name) {
  std::string wanted;
  for (const parameter& one : how.parameters) {
    if (one.has_name) wanted += (wanted.empty() ? "" : ", ") + std::string(one.name);
  }
  for (const parameter& one : math_parameters) wanted += how.math ? std::string(", ") + one.name : "";
  refuse(how, " has no keyword argument '" + name + "'. Wanted: one of " + wanted);
}

void assign(const signature& how, PyObject* name, PyObject* value, arguments& sorted) {
  for (std::size_t k = 0; k < how.parameters.size(); ++k) {
    const parameter& one = how.parameters[k];
    if (!is(name, one.name)) continue;
    if (!one.has_name && how.sizes) break;  // an axis of the pattern may have the name x
    if (!one.has_name) refuse(how, " takes " + std::string(one.name) + " by position only. Wanted: no name before it");
    PyObject*& place = sorted.*one.value;
    if (static_cast<int>(k) < how.positional && place != nullptr)
      refuse(how, " is called with the argument " + std::string(one.name) + " twice");
    place = value;
    return;
  }
  for (const parameter& one : math_parameters) {
    if (!how.math || !is(name, one.name)) continue;
    sorted.*one.value = value;
    sorted.has_math = true;
    return;
  }
  if (!how.sizes) refuse_name(how, text_of(name));
  if (!sorted.sizes.is_valid()) sorted.sizes = nb::dict();
  if (PyDict_SetItem(sorted.sizes.ptr(), name, value) < 0) throw nb::python_error();
}

}  // namespace

arguments sort(const signature& how, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  arguments sorted;
  if (count > how.positional) {
    refuse(how, " takes " + std::to_string(how.positional) + " positional argument" + (how.positional == 1 ? "" : "s") +
                    ", found " + std::to_string(count) + ". Wanted: the others by name");
  }
  for (Py_ssize_t k = 0; k < count; ++k) sorted.*how.parameters[static_cast<std::size_t>(k)].value = given[k];
  const Py_ssize_t named = keywords != nullptr ? PyTuple_Size(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) assign(how, PyTuple_GetItem(keywords, k), given[count + k], sorted);
  for (const parameter& one : how.parameters.first(static_cast<std::size_t>(how.required))) {
    if (sorted.*one.value == nullptr) refuse(how, " is called without the argument " + std::string(one.name));
  }
  return sorted;
}

arguments sort(const signature& how, const nb::args& given, const nb::kwargs& named) {
  std::vector<PyObject*> all;
  all.reserve(given.size() + named.size());
  for (const nb::handle one : given) all.push_back(one.ptr());
  const auto count = static_cast<Py_ssize_t>(given.size());
  if (named.size() == 0) return sort(how, all.data(), count, nullptr);
  for (const auto& [name, value] : named) all.push_back(value.ptr());
  return sort(how, all.data(), count, nb::tuple(nb::list(named.keys())).ptr());
}

nb::dict math_of(const arguments& given) {
  nb::dict made;
  for (const parameter& one : math_parameters) {
    if (given.*one.value != nullptr) made[one.name] = nb::handle(given.*one.value);
  }
  return made;
}

int threads_of(nb::handle value) {
  if (!value.is_valid()) return 0;
  if (PyIndex_Check(value.ptr()) == 0)
    throw nb::type_error(("threads is a " + kind_of(value) + ". Wanted: an integer").c_str());
  const Py_ssize_t found = PyNumber_AsSsize_t(value.ptr(), nullptr);  // a larger integer becomes the largest one
  if (found == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  constexpr Py_ssize_t most = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<Py_ssize_t>(found, -1, most));
}

namespace {

// Unlike PyErr_SetString this takes any bytes, of which a sentence of the library may have some of a file's name.
void set(PyObject* type, const char* sentence) noexcept {
  PyObject* const text =
      PyUnicode_DecodeUTF8(sentence, static_cast<Py_ssize_t>(std::strlen(sentence)), "backslashreplace");
  if (text == nullptr) return;  // a MemoryError is set
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

}  // namespace

void set_error(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (nb::python_error& found) {
    found.restore();
  } catch (const error& found) {
    set(exception_of(found.code()), found.what());
  } catch (const nb::builtin_exception& found) {
    set(PyExc_TypeError, found.what());
  } catch (const std::bad_alloc&) {
    set(PyExc_MemoryError, "cornerturn found no memory for the description of this call. Wanted: more free memory");
  } catch (...) {
    set(PyExc_RuntimeError, "cornerturn has a defect: an argument that it did not check. Please report this call");
  }
}

void sleep_until_exit() noexcept {
  while (true) pause();
}

}  // namespace cornerturn::python
