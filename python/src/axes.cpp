#include "axes.hpp"

#include <limits>
#include <string>
#include <utility>

#include "cornerturn/error.hpp"
#include "text.hpp"

namespace cornerturn::python {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

std::string number_of_axes(int count) { return std::to_string(count) + (count == 1 ? " axis" : " axes"); }

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

// ---- patterns: names on both sides of "->", and "..." for axes without names ----

struct names {
  int count = 0;
  int ellipsis = -1;  // position of "..." in `at`
  std::array<std::string_view, most_axes> at;
};

bool is_name(std::string_view word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!letter(word[0])) return false;
  for (const char c : word) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

names split(std::string_view side, std::string_view pattern) {
  constexpr std::string_view blanks = " \t\n";
  names found;
  while (true) {
    const std::size_t begin = side.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return found;
    side.remove_prefix(begin);
    const std::string_view word = side.substr(0, side.find_first_of(blanks));
    side.remove_prefix(word.size());
    if (word == "...") {
      if (found.ellipsis >= 0) refuse("pattern is '" + escaped(pattern) + "', with '...' twice on one side");
      found.ellipsis = found.count;
    } else if (!is_name(word)) {
      refuse("pattern is '" + escaped(pattern) + "', in which '" + escaped(word) +
             "' is not the name of an axis. Wanted: only names and '...', because a pattern permutes axes and does not "
             "join or split them");
    }
    for (int k = 0; k < found.count; ++k) {
      if (found.at[k] == word)
        refuse("pattern is '" + escaped(pattern) + "', with '" + escaped(word) + "' twice on one side");
    }
    if (found.count == most_axes) refuse("pattern is '" + escaped(pattern) + "', which names more than 64 axes");
    found.at[found.count++] = word;
  }
}

int position_of(std::string_view word, const names& in) {
  for (int k = 0; k < in.count; ++k) {
    if (in.at[k] == word) return k;
  }
  return -1;
}

void check_names(const names& names_here, const names& names_there, const char* side, std::string_view pattern) {
  for (int k = 0; k < names_here.count; ++k) {
    if (position_of(names_here.at[k], names_there) >= 0) continue;
    refuse("pattern is '" + escaped(pattern) + "', and '" + escaped(names_here.at[k]) + "' is missing on the " + side +
           ". Wanted: equal sets of names on both sides");
  }
}

axis_list from_pattern(std::string_view pattern, int rank) {
  const std::size_t arrow = pattern.find("->");
  if (arrow == std::string_view::npos || pattern.find("->", arrow + 2) != std::string_view::npos) {
    refuse("pattern is '" + escaped(pattern) + "', wanted one '->', as in 'n c h w -> n h w c'");
  }
  const names from = split(pattern.substr(0, arrow), pattern);
  const names to = split(pattern.substr(arrow + 2), pattern);
  check_names(from, to, "right", pattern);
  check_names(to, from, "left", pattern);
  const bool open = from.ellipsis >= 0;
  const int named = from.count - (open ? 1 : 0);
  const int unnamed = rank - named;
  if (unnamed < 0 || (!open && unnamed > 0)) {
    refuse("pattern is '" + escaped(pattern) + "', which is for " + number_of_axes(named) + (open ? " or more" : "") +
           ", but x has " + number_of_axes(rank));
  }
  axis_list made{.count = 0, .at = {}};
  for (int k = 0; k < to.count; ++k) {
    const int position = position_of(to.at[k], from);
    const int axis = open && position > from.ellipsis ? position + unnamed - 1 : position;
    for (int step = 0; step < (position == from.ellipsis ? unnamed : 1); ++step) made.at[made.count++] = axis + step;
  }
  return made;
}

}  // namespace

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
  if (asked.how == request::kind::pattern) return from_pattern(asked.pattern, rank);
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
