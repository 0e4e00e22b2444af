#include "terms.hpp"

#include <cmath>
#include <limits>

#include "numpy.hpp"

namespace cornerturn::python {
namespace {

std::optional<scalar> number_of(nb::handle number) {
  if (PyComplex_CheckExact(number.ptr()))
    return scalar{PyComplex_RealAsDouble(number.ptr()), PyComplex_ImagAsDouble(number.ptr())};
  if (const auto real = real_of(number)) return scalar{*real, 0};
  return std::nullopt;
}

std::optional<bool> bool_of(PyObject* value) {
  if (PyBool_Check(value) == 0) return std::nullopt;
  return value == Py_True;
}

nb::handle unless_none(PyObject* value) { return value == Py_None ? nullptr : value; }

bool is_float8(element_type type) { return type == element_type::float8_e4m3 || type == element_type::float8_e5m2; }

}  // namespace

bool terms::only_copies() const {
  return math.alpha == scalar{1, 0} && math.beta == scalar{0, 0} && !math.conj && !second.is_valid() &&
         !scale.is_valid();
}

std::optional<arithmetic> terms::with_types(element_type src, element_type dst) const {
  const bool has_beta = math.beta != scalar{0, 0};
  if (src == element_type::bits || dst == element_type::bits) return std::nullopt;
  if (has_beta ? !second.is_valid() && !has_out : second.is_valid()) return std::nullopt;
  arithmetic made = math;
  made.src = src;
  made.dst = dst;
  made.scaled = is_float8(dst) && src != dst;
  made.second = second.is_valid() ? second_array::source : second_array::none;
  if (scale.is_valid() && !made.scaled) return std::nullopt;
  return made;
}

std::optional<terms> terms_of(const arguments& given) {
  terms made{.dtype = unless_none(given.dtype),
             .second = unless_none(given.second),
             .scale = unless_none(given.scale),
             .has_out = given.out != Py_None};
  const bool has_beta = given.beta != nullptr && given.beta != Py_None;
  const auto alpha = given.alpha == nullptr ? scalar{1, 0} : number_of(given.alpha);
  const auto beta = has_beta ? number_of(given.beta) : scalar{0, 0};
  const auto conj = given.conj == nullptr ? false : bool_of(given.conj);
  const auto saturate = given.saturate == nullptr ? true : bool_of(given.saturate);
  if (!alpha || !beta || !conj || !saturate || (made.second.is_valid() && !has_beta)) return std::nullopt;
  made.math.alpha = *alpha;
  made.math.beta = *beta;
  made.math.conj = *conj;
  made.math.saturate = *saturate;
  return made;
}

std::optional<double> real_of(nb::handle number) {
  PyObject* const value = number.ptr();
  if (PyFloat_CheckExact(value) || numpy::is_float(number)) return PyFloat_AsDouble(value);
  if (!PyLong_CheckExact(value) && PyBool_Check(value) == 0) return std::nullopt;
  const double found = PyLong_AsDouble(value);
  if (found != -1 || PyErr_Occurred() == nullptr) return found;
  PyErr_Clear();
  return std::nullopt;
}

std::optional<float> factor_of(const terms& given) {
  if (!given.scale.is_valid()) return 1;
  const auto found = real_of(given.scale);
  if (!found || std::abs(*found) > std::numeric_limits<float>::max()) return std::nullopt;
  return static_cast<float>(*found);
}

}  // namespace cornerturn::python
