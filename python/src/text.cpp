#include "text.hpp"

#include "cornerturn/error.hpp"

namespace cornerturn::python {
namespace {

constexpr Py_ssize_t longest = 200;  // characters; a sentence must stay readable

// Returns a null object, without an error, instead of an exception of Python.
nb::object checked(PyObject* made) {
  if (made == nullptr) PyErr_Clear();
  return nb::steal(made);
}

std::string escaped(nb::handle text) {
  const nb::object begin =
      checked(PyUnicode_Substring(text.ptr(), 0, longest));  // also of a class that derives from str
  if (!begin.is_valid()) return "?";
  const nb::object utf8 =
      checked(PyUnicode_AsEncodedString(begin.ptr(), "utf-8", "backslashreplace"));  // lone surrogates
  if (!utf8.is_valid()) return "?";
  const std::string_view shown(PyBytes_AsString(utf8.ptr()), static_cast<std::size_t>(PyBytes_Size(utf8.ptr())));
  const error found(status::ok, std::string(shown));  // which escapes its sentence
  return found.what() + std::string(PyUnicode_GetLength(text.ptr()) > longest ? "..." : "");
}

std::string attribute(nb::handle type, const char* name) {
  const nb::object found = checked(PyObject_GetAttrString(type.ptr(), name));
  return found.is_valid() && PyUnicode_Check(found.ptr()) != 0 ? escaped(found) : "?";
}

}  // namespace

std::string escaped(std::string_view utf8) {
  const nb::object text =
      checked(PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "backslashreplace"));
  return text.is_valid() ? escaped(text) : "?";
}

std::string text_of(nb::handle object) {
  const nb::object text = checked(PyObject_Str(object.ptr()));
  return text.is_valid() ? escaped(text) : kind_of(object);
}

std::string shown(nb::handle object) {
  const nb::object text = checked(PyObject_Repr(object.ptr()));
  return text.is_valid() ? escaped(text) : kind_of(object);
}

std::string kind_of(nb::handle object) {
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
  const std::string module = attribute(type, "__module__"), name = attribute(type, "__name__");
  return module == "builtins" ? name : module + "." + name;
}

std::string_view utf8_of(nb::handle text, const char* name) {
  Py_ssize_t length = 0;
  const char* const found = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
  if (found != nullptr) return {found, static_cast<std::size_t>(length)};
  PyErr_Clear();
  throw error(status::invalid_argument,
              std::string(name) + " is '" + text_of(text) + "', which has lone surrogates. Wanted: Unicode text");
}

}  // namespace cornerturn::python
