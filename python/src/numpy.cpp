#include "numpy.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <string>

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

std::string text(nb::handle object) { return nb::str(object).c_str(); }

void check_dtype(nb::handle x, const char* name) {
  if (!PyDataType_REFCHK(PyArray_DESCR(array(x)))) return;
  throw nb::type_error((std::string(name) + " has dtype " + text(x.attr("dtype")) +
                        ", whose elements refer to Python objects. Wanted: elements without references")
                           .c_str());
}

void check_class(nb::handle x, const std::string& name = "x") {
  if (PyArray_CheckExact(x.ptr()) || !nb::hasattr(x, "filled")) return;
  throw nb::type_error((name + " is a masked array, whose mask would be lost. Wanted: " +
                        (name == "x" ? "x.filled(), or x.data and x.mask separately" : name + ".data"))
                           .c_str());
}

view view_of(nb::handle x) {
  PyArrayObject* const it = array(x);
  return {.data = PyArray_DATA(it),
          .element_bytes = static_cast<std::int64_t>(PyArray_ITEMSIZE(it)),
          .rank = PyArray_NDIM(it),
          .extents = reinterpret_cast<const std::int64_t*>(PyArray_DIMS(it)),
          .strides = reinterpret_cast<const std::int64_t*>(PyArray_STRIDES(it)),
          .stride_bytes = 1,
          .where = memory_kind::host};
}

nb::object empty(nb::handle x, const axis_list& axes) {
  npy_intp extents[most_axes];
  for (int k = 0; k < axes.count; ++k) extents[k] = PyArray_DIM(array(x), axes.at[k]);
  PyArray_Descr* const dtype = PyArray_DESCR(array(x));
  Py_INCREF(reinterpret_cast<PyObject*>(dtype));  // the next call steals a reference
  PyObject* const made = PyArray_NewFromDescr(&PyArray_Type, dtype, axes.count, extents, nullptr, nullptr, 0, nullptr);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

void check_out(nb::handle x, nb::handle out) {
  if (!PyArray_Check(out.ptr())) {
    throw nb::type_error(("out is a " + kind_of(out) + ", but x is a numpy.ndarray. Wanted: a numpy.ndarray").c_str());
  }
  check_class(out, "out");
  if (PyArray_FailUnlessWriteable(array(out), "out") < 0) throw nb::python_error();
  if (!PyArray_EquivTypes(PyArray_DESCR(array(x)), PyArray_DESCR(array(out)))) {
    throw error(status::invalid_argument, "out has dtype " + text(out.attr("dtype")) + ", but x has " +
                                              text(x.attr("dtype")) + ". Wanted: equal dtypes");
  }
}

}  // namespace

bool is_array(nb::handle x) { return is_there() && PyArray_Check(x.ptr()); }
bool is_exactly_array(nb::handle x) { return is_there() && PyArray_CheckExact(x.ptr()); }

view look_at(nb::handle x, const char* name) {
  check_class(x, name);
  check_dtype(x, name);
  return view_of(x);
}

nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held) {
  const view from = look_at(x, "x");
  const axis_list axes = resolve(asked, from.rank);
  nb::object made;
  if (out.is_none()) {
    made = empty(x, axes);
  } else {
    check_out(x, out);
    made = nb::borrow(out);
  }
  const view to = view_of(made);
  if (!out.is_none()) check_shape(from, axes, to);
  run(from, axes, to, {.held = held, .threads = asked.threads});
  return made;
}

nb::object transpose_in_place(nb::handle x, int threads) {
  const view at = look_at(x, "x");
  if (PyArray_FailUnlessWriteable(array(x), "x") < 0) throw nb::python_error();
  return python::transpose_in_place(x, at, {.threads = threads});
}

}  // namespace cornerturn::python::numpy
