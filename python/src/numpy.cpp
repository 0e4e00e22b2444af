#include "numpy.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "element.hpp"
#include "entry.hpp"
#include "memory.hpp"

namespace cornerturn::python::numpy {
namespace {

static_assert(sizeof(npy_intp) == sizeof(std::int64_t));

// An ndarray only exists after an import of NumPy, so this module never imports NumPy.
bool is_there() {
  static bool found = false;  // under the interpreter's lock
  if (found) return true;
  if (PyDict_GetItemString(PyImport_GetModuleDict(), "numpy") == nullptr) return false;
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
  return found = true;
}

PyArrayObject* array(nb::handle x) { return reinterpret_cast<PyArrayObject*>(x.ptr()); }

std::string dtype_text(nb::handle x) {
  return text_of(nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(array(x)))));
}

bool refers(nb::handle x) { return PyDataType_REFCHK(PyArray_DESCR(array(x))) != 0; }

void check_elements(nb::handle x, const char* name) {
  const std::int64_t bits = 8 * static_cast<std::int64_t>(PyArray_ITEMSIZE(array(x)));
  if (!is_movable(bits, 1, refers(x))) refuse_element({.bits = bits, .refers = refers(x), .text = dtype_text(x)}, name);
}

void check_class(nb::handle x, const char* name) {
  if (PyArray_CheckExact(x.ptr()) || !nb::hasattr(x, "filled")) return;
  throw nb::type_error(
      (std::string(name) + " is a masked array, whose mask would be lost. Wanted: " +
       (std::string_view(name) == "x" ? "x.filled(), or x.data and x.mask separately" : std::string(name) + ".data"))
          .c_str());
}

// A derived class may give its numbers a meaning, such as a unit. Its own code decides what a result has of it.
nb::object ask_class(const char* question, nb::handle first, nb::handle second) {
  return until_exit([&] { return nb::object(frameworks(question)(first, second)); });
}

void check_meaning(nb::handle x, const char* name, const char* work) {
  if (!PyArray_CheckExact(x.ptr())) static_cast<void>(ask_class("check_meaning", x, nb::make_tuple(name, work)));
}

nb::object empty(nb::handle x, const axis_list& axes, PyArray_Descr* dtype) {
  npy_intp extents[most_axes];
  for (int k = 0; k < axes.count; ++k) extents[k] = PyArray_DIM(array(x), axes.at[k]);
  Py_INCREF(reinterpret_cast<PyObject*>(dtype));  // the next call steals a reference
  PyObject* const made = PyArray_NewFromDescr(&PyArray_Type, dtype, axes.count, extents, nullptr, nullptr, 0, nullptr);
  if (made == nullptr) throw nb::python_error();
  auto* const result = reinterpret_cast<PyArrayObject*>(made);
  if (PyArray_ITEMSIZE(result) != PyDataType_ELSIZE(dtype))  // texts of no character get one
    std::memset(PyArray_DATA(result), 0, static_cast<std::size_t>(PyArray_NBYTES(result)));
  return nb::steal(made);
}

void check_out(nb::handle x, nb::handle out) {
  if (!PyArray_Check(out.ptr())) {
    throw nb::type_error(("out is a " + kind_of(out) + ", but x is a numpy.ndarray. Wanted: a numpy.ndarray").c_str());
  }
  check_class(out, "out");
  check_meaning(x, "x", "A copy to out");
  check_target(out, "out");
  check_equal_dtypes(x, out);
}

// Returns `bits` for a type without arithmetic, and for the byte order of another machine.
element_type type_of(const PyArray_Descr* dtype) {
  if (!PyArray_ISNBO(dtype->byteorder)) return element_type::bits;
  if (PyTypeNum_ISUSERDEF(dtype->type_num)) {  // dtype.name is the name of the class
    const nb::object name = nb::handle(reinterpret_cast<PyObject*>(dtype->typeobj)).attr("__name__");
    return type_with_name(utf8_of(name, "dtype"));
  }
  switch (dtype->type_num) {
    case NPY_HALF:
      return element_type::float16;
    case NPY_FLOAT:
      return element_type::float32;
    case NPY_DOUBLE:
      return element_type::float64;
    case NPY_CFLOAT:
      return element_type::complex64;
    case NPY_CDOUBLE:
      return element_type::complex128;
    default:
      break;
  }
  if (!PyTypeNum_ISINTEGER(dtype->type_num)) return element_type::bits;  // C has several names for one size
  const bool has_sign = PyTypeNum_ISSIGNED(dtype->type_num);
  switch (PyDataType_ELSIZE(dtype)) {
    case 1:
      return has_sign ? element_type::int8 : element_type::uint8;
    case 2:
      return has_sign ? element_type::int16 : element_type::uint16;
    case 4:
      return has_sign ? element_type::int32 : element_type::uint32;
    default:
      return has_sign ? element_type::int64 : element_type::uint64;
  }
}

// Returns a null object for an object that is no dtype, no class of numbers and no text.
nb::object dtype_of(nb::handle wanted) {
  if (PyArray_DescrCheck(wanted.ptr())) return nb::borrow(wanted);
  auto* const kind = reinterpret_cast<PyTypeObject*>(wanted.ptr());
  const bool is_class =
      PyType_Check(wanted.ptr()) != 0 && (kind == &PyFloat_Type || kind == &PyLong_Type || kind == &PyComplex_Type ||
                                          PyType_IsSubtype(kind, &PyGenericArrType_Type) != 0);
  PyArray_Descr* found = nullptr;
  if (!is_class && PyUnicode_CheckExact(wanted.ptr()) == 0) return {};
  if (PyArray_DescrConverter(wanted.ptr(), &found) == NPY_FAIL) PyErr_Clear();
  return nb::steal(reinterpret_cast<PyObject*>(found));
}

nb::handle dtype_of_array(nb::handle x) { return reinterpret_cast<PyObject*>(PyArray_DESCR(array(x))); }

PyArray_Descr* descr(nb::handle dtype) { return reinterpret_cast<PyArray_Descr*>(dtype.ptr()); }

bool is_exactly(nb::handle x, PyArray_Descr* dtype) {
  return PyArray_CheckExact(x.ptr()) && PyArray_EquivTypes(PyArray_DESCR(array(x)), dtype) != 0;
}

bool is_one_float(nb::handle x) {
  return PyArray_CheckExact(x.ptr()) && PyArray_SIZE(array(x)) == 1 &&
         type_of(PyArray_DESCR(array(x))) == element_type::float32;
}

}  // namespace

bool is_array(nb::handle x) { return is_there() && PyArray_Check(x.ptr()); }
bool is_exactly_array(nb::handle x) { return is_there() && PyArray_CheckExact(x.ptr()); }

bool is_float(nb::handle x) {
  const PyTypeObject* const kind = Py_TYPE(x.ptr());
  return is_there() && (kind == &PyDoubleArrType_Type || kind == &PyFloatArrType_Type);
}

void check_array(nb::handle x, const char* name) {
  check_class(x, name);
  check_elements(x, name);
}

void check_equal_dtypes(nb::handle x, nb::handle out) {
  if (PyArray_EquivTypes(PyArray_DESCR(array(x)), PyArray_DESCR(array(out)))) return;
  throw error(status::invalid_argument,
              "out has dtype " + dtype_text(out) + ", but x has " + dtype_text(x) + ". Wanted: equal dtypes");
}

void check_writable(nb::handle x, const char* name) {
  if (PyArray_FailUnlessWriteable(array(x), name) < 0) throw nb::python_error();
}

void check_target(nb::handle out, const char* name) {
  check_meaning(out, name, "A copy to out");
  check_writable(out, name);
}

view look_at(nb::handle x) {
  PyArrayObject* const it = array(x);
  if (refers(x)) check_elements(x, "an array");  // x.__setstate__() replaces the dtype
  return {.data = PyArray_DATA(it),
          .element_bytes = static_cast<std::int64_t>(PyArray_ITEMSIZE(it)),
          .rank = PyArray_NDIM(it),
          .extents = reinterpret_cast<const std::int64_t*>(PyArray_DIMS(it)),
          .strides = reinterpret_cast<const std::int64_t*>(PyArray_STRIDES(it)),
          .stride_bytes = 1,
          .where = memory_kind::host,
          .is_read_only = PyArray_ISWRITEABLE(it) == 0};
}

nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held) {
  // 1. Python code may run.
  check_array(x, "x");
  if (!out.is_none()) check_out(x, out);
  const axis_list axes = resolve(asked, PyArray_NDIM(array(x)));
  nb::object like;
  if (out.is_none() && !PyArray_CheckExact(x.ptr())) like = ask_class("transposed_view", x, to_tuple(axes));
  const nb::object made = out.is_none() ? empty(x, axes, PyArray_DESCR(array(x))) : nb::borrow(out);
  // 2. None runs.
  const view from = look_at(x), to = look_at(made);
  check_shape(from, axes, to);
  run(from, axes, to, {.held = held, .threads = asked.threads});
  // 3. Python code may run.
  return like.is_valid() ? ask_class("dressed", made, like) : made;
}

nb::object compute(nb::handle x, const request& asked, nb::handle out, const terms& wanted) {
  // 1. Python code may run.
  if (!is_exactly_array(x)) return {};
  const axis_list axes = resolve(asked, PyArray_NDIM(array(x)));
  const nb::object dtype = wanted.dtype.is_valid() ? dtype_of(wanted.dtype) : nb::borrow(dtype_of_array(x));
  if (!dtype.is_valid()) return {};
  if (wanted.only_copies() && is_exactly(x, descr(dtype))) return permute(x, asked, out, nullptr);
  const auto math = wanted.with_types(type_of(descr(dtype_of_array(x))), type_of(descr(dtype)));
  if (!math) return {};
  const auto number = factor_of(wanted);
  if (math->scaled && !number && !is_one_float(wanted.scale)) return {};
  if (wanted.second.is_valid() &&
      (!is_exactly(wanted.second, descr(dtype)) || !has_shape(look_at(x), axes, look_at(wanted.second))))
    return {};
  if (!out.is_none()) {
    if (!is_exactly(out, descr(dtype)) || !PyArray_ISWRITEABLE(array(out))) return {};
    check_writable(out, "out");
  }
  nb::object made = out.is_none() ? empty(x, axes, descr(dtype)) : nb::borrow(out);
  // 2. None runs.
  arithmetic_arrays all{.x = look_at(x), .out = look_at(made)};
  float factor = number.value_or(1);
  if (wanted.second.is_valid()) all.second = look_at(wanted.second);
  if (math->scaled) all.scale = number ? view{.data = &factor, .element_bytes = sizeof factor} : look_at(wanted.scale);
  run_arithmetic(all, axes, *math, {.threads = asked.threads});
  return made;
}

nb::object transpose_in_place(nb::handle x, int threads) {
  check_array(x, "x");
  check_writable(x, "x");
  if (!changes_shape(look_at(x))) {
    run_in_place(look_at(x), {.threads = threads});
    return nb::borrow(x);
  }
  const view before = look_at(x);
  npy_intp extents[most_axes];
  std::copy(before.extents, before.extents + before.rank, extents);
  std::swap(extents[before.rank - 1], extents[before.rank - 2]);
  PyArray_Dims shape{extents, before.rank};
  nb::object result = nb::steal(PyArray_Newshape(array(x), &shape, NPY_CORDER));  // x.reshape may be a class's own
  if (!result.is_valid()) throw nb::python_error();
  const view at = look_at(x), of_result = look_at(result);  // a class may also have changed x when the view was made
  if (at.data != of_result.data || bytes_of(at) != bytes_of(of_result) || !changes_shape(at))
    throw error(status::invalid_argument, "x has changed during the call. Wanted: an array that no other code changes");
  run_in_place(at, {.threads = threads});
  return result;
}

}  // namespace cornerturn::python::numpy
