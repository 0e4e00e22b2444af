#include "text.hpp"

#include <algorithm>

#include "cornerturn/error.hpp"

namespace cornerturn::python {
namespace {

constexpr Py_ssize_t longest = 200;  // characters; a sentence must stay readable

bool is_plain(std::string_view text) {
  return text.size() <= static_cast<std::size_t>(longest) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
}

// Returns a null object, without an error, instead of an exception of Python.
nb::object checked(PyObject* made) {
  if (made == nullptr) PyErr_Clear();
  return nb::steal(made);
}

std::string shown_utf8(nb::handle text) {
  Py_ssize_t length = 0;
  const char* const found = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
  if (found != nullptr) return {found, static_cast<std::size_t>(length)};
  PyErr_Clear();
  return "?";
}

std::string escaped(nb::handle text) {
  const nb::object begin =
      checked(PyUnicode_Substring(text.ptr(), 0, longest));  // also of a class that derives from str
  if (!begin.is_valid()) return "?";
  const bool is_longer = PyUnicode_GetLength(text.ptr()) > longest;
  const nb::object shown = checked(PyObject_Repr(begin.ptr()));
  if (!shown.is_valid()) return "?";
  std::string made = shown_utf8(shown);
  if (made.size() >= 2) made = made.substr(1, made.size() - 2);  // without the quotes
  return is_longer ? made + "..." : made;
}

std::string attribute(nb::handle type, const char* name) {
  const nb::object found = checked(PyObject_GetAttrString(type.ptr(), name));
  return found.is_valid() && PyUnicode_Check(found.ptr()) != 0 ? escaped(found) : "?";
}

}  // namespace

std::string escaped(std::string_view utf8) {
  if (is_plain(utf8)) return std::string(utf8);
  const nb::object text =
      checked(PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "backslashreplace"));
  return text.is_valid() ? escaped(text) : "?";
}

std::string text_of(nb::handle object) {
  const nb::object text = checked(PyObject_Str(object.ptr()));
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
