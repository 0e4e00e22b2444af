#include "axes.hpp"

#include <limits>
#include <string>
#include <utility>

#include "cornerturn/error.hpp"
#include "pattern.hpp"
#include "text.hpp"

namespace cornerturn::python {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

[[noreturn]] void refuse_type(const std::string& name, nb::handle found, const char* wanted) {
  throw nb::type_error((name + " is a " + kind_of(found) + ". Wanted: " + wanted).c_str());
}

std::string entry(int k) { return "axes[" + std::to_string(k) + "]"; }

constexpr int beyond = std::numeric_limits<int>::max();  // stands for all numbers that int has not, and is no axis

// Sets text for a number that becomes `beyond`.
int as_index(nb::handle item, int k, std::string& text) {
  if (PyIndex_Check(item.ptr()) == 0) refuse_type(entry(k), item, "an integer");
  const nb::object number = nb::steal(PyNumber_Index(item.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  const Py_ssize_t value = PyNumber_AsSsize_t(number.ptr(), nullptr);  // a larger integer becomes the largest one
  if (value >= -beyond && value < beyond) return static_cast<int>(value);
  if (text.empty()) text = text_of(number);
  return beyond;
}

bool is_unordered(nb::handle axes) { return PyAnySet_Check(axes.ptr()) || PyDict_Check(axes.ptr()); }

void add(request& made, nb::handle item) {
  axis_list& axes = made.axes;
  if (axes.count == most_axes) refuse("axes has more than 64 entries. Wanted: one entry for each axis of x");
  axes.at[axes.count] = as_index(item, axes.count, made.beyond);
  ++axes.count;
}

request request_of_numbers(nb::handle axes) {
  constexpr const char* wanted = "a sequence with one integer for each axis of x";
  if (PyUnicode_Check(axes.ptr())) refuse_type("axes", axes, "a sequence of integers. A pattern is for rearrange");
  if (is_unordered(axes)) refuse_type("axes", axes, wanted);
  request made{.how = request::kind::axes, .axes = {.count = 0, .at = {}}};
  if (PyTuple_CheckExact(axes.ptr())) {
    for (Py_ssize_t k = 0; k < PyTuple_Size(axes.ptr()); ++k) add(made, PyTuple_GetItem(axes.ptr(), k));
    return made;
  }
  const nb::object items = nb::steal(PyObject_GetIter(axes.ptr()));
  if (!items.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
    refuse_type("axes", axes, wanted);
  }
  while (const nb::object item = nb::steal(PyIter_Next(items.ptr()))) add(made, item);
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return made;
}

axis_list permutation(const axis_list& given, const std::string& beyond_int, int rank) {
  if (given.count != rank) {
    refuse("axes has " + std::to_string(given.count) + " entries, but x has " + number_of_axes(rank) +
           ". Wanted: one entry for each axis");
  }
  axis_list made{.count = rank, .at = {}};
  std::array<bool, most_axes> seen{};
  for (int k = 0; k < rank; ++k) {
    const int number = given.at[k];
    if (number < -rank || number >= rank) {
      refuse(entry(k) + " is " + (number == beyond ? beyond_int : std::to_string(number)) + ", wanted " +
             std::to_string(-rank) + " to " + std::to_string(rank - 1));
    }
    const int axis = number < 0 ? number + rank : number;
    if (seen[axis]) refuse(entry(k) + " is " + std::to_string(number) + ", which repeats an axis");
    seen[axis] = true;
    made.at[k] = axis;
  }
  return made;
}

}  // namespace

std::string number_of_axes(int count) { return std::to_string(count) + (count == 1 ? " axis" : " axes"); }

request request_of(nb::handle axes) {
  if (axes.is_none()) return {};
  return PyUnicode_Check(axes.ptr()) == 0 ? request_of_sequence(axes) : pattern_of(axes);
}

request request_of_sequence(nb::handle axes) { return request_of_numbers(axes); }

request pattern_of(nb::handle pattern) {
  if (PyUnicode_Check(pattern.ptr()) == 0)
    refuse_type("pattern", pattern, "a str with the names of the axes, as in 'n c h w -> n h w c'");
  return {.how = request::kind::pattern, .pattern = utf8_of(pattern, "pattern")};
}

axis_list resolve(const request& asked, int rank) {
  if (rank > most_axes) refuse("x has " + number_of_axes(rank) + ", wanted 64 or fewer");
  if (asked.how == request::kind::axes) return permutation(asked.axes, asked.beyond, rank);
  if (asked.how == request::kind::pattern) return axes_of_pattern(asked.pattern, rank);
  if (rank < 2) refuse("x has " + number_of_axes(rank) + ", wanted 2 or more: the last two are swapped");
  axis_list made{.count = rank, .at = {}};
  for (int k = 0; k < rank; ++k) made.at[k] = k;
  std::swap(made.at[rank - 1], made.at[rank - 2]);
  return made;
}

nb::tuple to_tuple(const axis_list& axes, const std::int64_t* extents) {
  const nb::object made = nb::steal(PyTuple_New(axes.count));
  for (int k = 0; k < axes.count; ++k) {
    const std::int64_t one = extents != nullptr ? extents[axes.at[k]] : axes.at[k];
    PyTuple_SetItem(made.ptr(), k, PyLong_FromLongLong(one));
  }
  return nb::borrow<nb::tuple>(made);
}

}  // namespace cornerturn::python
