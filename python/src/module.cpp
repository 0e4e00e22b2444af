// cornerturn._core: the functions of the package and the class `plan`.
//
// Dispatch by the type of array:
//   1. NumPy: numpy.cpp   2. PyTorch tensors without autograd or transformations: torch.cpp
//   3. all others: cornerturn/_frameworks.py, which calls move_memory()
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/typing.h>

#include <optional>
#include <vector>

#include "axes.hpp"
#include "cornerturn/cornerturn.hpp"
#include "docs.hpp"
#include "entry.hpp"
#include "jax.hpp"
#include "move.hpp"
#include "numpy.hpp"
#include "torch.hpp"

namespace cornerturn::python {
namespace {

using namespace nb::literals;

// ---- memory described by Python: a DLPack capsule, or (pointer, shape, strides in bytes, element bytes, on CUDA) ----

struct described {
  explicit described(nb::handle memory, bool writable = false) {
    if (PyCapsule_CheckExact(memory.ptr())) {
      if (writable) {
        capsule = nb::ndarray<nb::ro>(nb::cast<nb::ndarray<>>(memory));
      } else {
        capsule = nb::cast<nb::ndarray<nb::ro>>(memory);
      }
      for (std::size_t k = 0; k < capsule->ndim(); ++k) {
        extents.push_back(static_cast<std::int64_t>(capsule->shape(k)));
        strides.push_back(capsule->stride(k));
      }
      const auto bytes = static_cast<std::int64_t>(capsule->itemsize());
      is = {.data = const_cast<void*>(static_cast<const void*>(capsule->data())),
            .element_bytes = bytes,
            .rank = 0,
            .extents = nullptr,
            .strides = nullptr,
            .stride_bytes = bytes,
            .where = kind_of_device(capsule->device_type())};
    } else {
      for (const nb::handle one : memory[1]) extents.push_back(nb::cast<std::int64_t>(one));
      for (const nb::handle one : memory[2]) strides.push_back(nb::cast<std::int64_t>(one));
      is.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(memory[0]));  // NOLINT(performance-no-int-to-ptr)
      is.element_bytes = nb::cast<std::int64_t>(memory[3]);
      is.where = nb::cast<bool>(memory[4]) ? memory_kind::cuda : memory_kind::host;
    }
    is.rank = static_cast<int>(extents.size());
    is.extents = extents.data();
    is.strides = strides.data();
  }
  described(const described&) = delete;
  described& operator=(const described&) = delete;

  static memory_kind kind_of_device(int device_type) {
    if (device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value) return memory_kind::host;
    if (device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value)
      return memory_kind::cuda;
    throw error(status::invalid_argument, "x is on a device of DLPack type " + std::to_string(device_type) +
                                              ". Wanted: the host's memory (1, 3) or a CUDA device's (2, 13)");
  }

  view is;
  std::vector<std::int64_t> extents, strides;
  std::optional<nb::ndarray<nb::ro>> capsule;
};

nb::object frameworks(const char* name) { return nb::module_::import_("cornerturn._frameworks").attr(name); }

int rank_of(nb::handle x) {
  const nb::object shape = nb::getattr(x, "shape", nb::none());
  const Py_ssize_t rank = shape.is_none() ? -1 : PyObject_Length(shape.ptr());
  if (rank >= 0) return static_cast<int>(rank);
  PyErr_Clear();
  throw nb::type_error(("x is a " + kind_of(x) +
                        ". Wanted: an array of NumPy, PyTorch, CuPy or JAX, or an object with a shape and "
                        "__cuda_array_interface__ or __dlpack__")
                           .c_str());
}

nb::object permute(nb::handle x, const request& asked, nb::handle out, nb::handle stream, const planned* held = nullptr,
                   nb::handle plan = nb::none()) {
  if (numpy::is_exactly_array(x)) return numpy::permute(x, asked, out, held);
  if (stream.is_none()) {
    if (nb::object made = torch::permute(x, asked, out, held); made.is_valid()) return made;
  }
  if (numpy::is_array(x)) return numpy::permute(x, asked, out, held);
  const axis_list axes = resolve(asked, rank_of(x));
  return frameworks("permute")(x, to_tuple(axes), out, stream, plan);
}

nb::object transpose_in_place(nb::handle x, nb::handle stream) {
  if (numpy::is_exactly_array(x)) return numpy::transpose_in_place(x);
  if (stream.is_none()) {
    if (nb::object result = torch::transpose_in_place(x); result.is_valid()) return result;
  }
  if (numpy::is_array(x)) return numpy::transpose_in_place(x);
  return frameworks("transpose_inplace_")(x, stream);
}

void move_memory(nb::handle src, nb::handle dst, nb::handle axes, nb::handle stream, const planned* held) {
  const described x(src), out(dst, true);
  const axis_list order = resolve({.how = request::kind::axes, .axes = axes}, x.is.rank);
  check_shape(x.is, order, out.is);
  if (x.is.where != out.is.where) {
    const bool host = x.is.where == memory_kind::host;
    throw error(status::invalid_argument, std::string("x is ") + (host ? "in host memory" : "on a CUDA device") +
                                              ", but out is not. Wanted: both on one device");
  }
  if (x.capsule && out.capsule && !(x.capsule->dtype() == out.capsule->dtype())) {
    throw error(status::invalid_argument, "out and x have different element types. Wanted: equal types");
  }
  if (x.is.element_bytes != out.is.element_bytes) {
    throw error(status::invalid_argument, "out has elements of " + std::to_string(out.is.element_bytes) +
                                              " bytes, but x of " + std::to_string(x.is.element_bytes) +
                                              ". Wanted: equal sizes");
  }
  run(x.is, order, out.is, stream_of(stream), held);
}

planned make_plan(nb::handle x, nb::handle axes, nb::handle out, int threads, const char* kernel) {
  const auto look = [](nb::handle it, std::optional<described>& kept) {
    if (numpy::is_array(it)) return numpy::look_at(it);
    if (const auto seen = torch::look_at(it)) return *seen;
    kept.emplace(frameworks("describe")(it));
    return kept->is;
  };
  std::optional<described> of_x, of_out;
  const view from = look(x, of_x);
  const axis_list order =
      resolve(axes.is_none() ? request{} : request{.how = request::kind::axes, .axes = axes}, from.rank);
  std::optional<view> to;
  if (!out.is_none()) {
    to = look(out, of_out);
    check_shape(from, order, *to);
  }
  const problem what = make_problem(from, order, to ? &*to : nullptr);
  const device on = from.where == memory_kind::cuda ? device::cuda : device::cpu;
  return {what, order, plan(what, {.on = on, .threads = threads, .kernel = kernel})};
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const error&) {
    set_error(thrown);
  }
}

nb::list backends_as_dicts() {
  nb::list made;
  for (const backend_info& one : backends()) {
    nb::dict entry;
    entry["name"] = one.name;
    entry["present"] = one.present;
    entry["detail"] = one.detail;
    made.append(entry);
  }
  return made;
}

nb::object held_permute(nb::handle self, nb::handle x, nb::handle out, nb::handle stream) {
  const auto& held = nb::cast<const planned&>(self);
  const nb::tuple axes = to_tuple(held.axes);
  return permute(x, {.how = request::kind::axes, .axes = axes}, out, stream, &held, self);
}

// ---- the four functions ----

nb::object permute(const arguments& sorted, const request& asked) {
  return permute(sorted.x, asked, sorted.out, sorted.stream);
}

template <class Move>
PyObject* call(const char* name, const char* how_name, PyObject* const* given, Py_ssize_t count, PyObject* keywords,
               const Move& move, arguments sorted = {}) {
  try {
    if (!sort(name, how_name, given, count, keywords, sorted)) return nullptr;
    return move(sorted).release().ptr();
  } catch (...) {
    set_error(std::current_exception());
    return nullptr;
  }
}

PyObject* matrix_transpose(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call("matrix_transpose", nullptr, given, count, keywords,
              [](const arguments& sorted) { return permute(sorted, {}); });
}

PyObject* permute_dims(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call("permute_dims", "axes", given, count, keywords, [](const arguments& sorted) {
    return permute(sorted, {.how = request::kind::axes, .axes = sorted.how});
  });
}

PyObject* rearrange(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call("rearrange", "pattern", given, count, keywords, [](const arguments& sorted) {
    Py_ssize_t length = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(sorted.how, &length);
    if (text == nullptr) throw nb::python_error();
    return permute(sorted, {.how = request::kind::pattern, .pattern = {text, static_cast<std::size_t>(length)}});
  });
}

PyObject* transpose_inplace(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call("transpose_inplace_", nullptr, given, count, keywords,
              [](const arguments& sorted) { return transpose_in_place(sorted.x, sorted.stream); }, {.out = nullptr});
}

PyMethodDef method(const char* name, PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*),
                   const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS,
          doc};
}

PyMethodDef functions[] = {method("matrix_transpose", matrix_transpose, matrix_transpose_doc),
                           method("permute_dims", permute_dims, permute_dims_doc),
                           method("rearrange", rearrange, rearrange_doc),
                           method("transpose_inplace_", transpose_inplace, transpose_inplace_doc),
                           {}};

}  // namespace

NB_MODULE(_core, m) {
  nb::register_exception_translator(translate);
  m.attr("Array") = nb::type_var("Array");
  m.attr("_version") = version();

  if (PyModule_AddFunctions(m.ptr(), functions) < 0) throw nb::python_error();

  nb::class_<planned>(m, "plan", plan_doc)
      .def(
          "__init__",
          [](planned* self, nb::handle x, nb::handle axes, nb::handle out, int threads,
             std::optional<std::string> kernel) {
            new (self) planned(make_plan(x, axes, out, threads, kernel ? kernel->c_str() : nullptr));
          },
          "x"_a.none(), "axes"_a = nb::none(), nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
          "kernel"_a = nb::none(),
          nb::sig("def __init__(self, x: object, axes: Sequence[int] | None = None, *, out: object = None, "
                  "threads: int = 0, kernel: str | None = None) -> None"))
      .def("__call__", held_permute, "x"_a.none(), nb::kw_only(), "out"_a = nb::none(), "stream"_a = nb::none(),
           nb::sig("def __call__(self, x: Array, *, out: Array | None = None, stream: object = None) -> Array"),
           "Permute an array with the layout of the plan; see `permute_dims`.")
      .def(
          "explain", [](const planned& self) { return self.how.explain(); },
          "Return a text: the problem, its canonical form, and all offers with their predicted times.")
      .def_prop_ro(
          "axes", [](const planned& self) { return to_tuple(self.axes); }, nb::sig("def axes(self) -> tuple[int, ...]"),
          "Axis ``k`` of the result is axis ``axes[k]`` of `x`.")
      .def_prop_ro(
          "kernel", [](const planned& self) { return self.how.kernel(); }, "The name of the kernel.")
      .def_prop_ro(
          "threads", [](const planned& self) { return self.how.threads(); }, "Number of CPU threads.")
      .def_prop_ro(
          "bytes_moved", [](const planned& self) { return self.how.bytes_moved(); }, "Bytes read and bytes written.")
      .def("__repr__", [](const planned& self) {
        return "<cornerturn.plan: " + std::to_string(self.how.bytes_moved()) + " bytes by " + self.how.kernel() + ">";
      });

  m.def("backends", backends_as_dicts, nb::sig("def backends() -> list[dict[str, str | bool]]"),
        "Describe each backend of this build: its name, whether it is present, and a sentence.");

  // For the Python modules of this package.
  m.def("_move_memory", move_memory, "src"_a, "dst"_a, "axes"_a, "stream"_a = nb::none(), "plan"_a = nb::none(),
        nb::sig("def _move_memory(src: object, dst: object, axes: Sequence[int], stream: object = None, "
                "plan: plan | None = None) -> None"));
  m.def(
      "_transpose_memory",
      [](nb::handle x, nb::handle memory, nb::handle stream) {
        return transpose_in_place(x, described(memory, true).is, stream_of(stream));
      },
      "x"_a, "memory"_a, "stream"_a = nb::none(),
      nb::sig("def _transpose_memory(x: Array, memory: object, stream: object = None) -> Array"));
  m.def(
      "_resolve_pattern",
      [](std::string_view pattern, int rank) {
        return to_tuple(resolve({.how = request::kind::pattern, .pattern = pattern}, rank));
      },
      "pattern"_a, "rank"_a, nb::sig("def _resolve_pattern(pattern: str, rank: int) -> tuple[int, ...]"));
  m.def(
      "_stream_handle", [](nb::handle stream) { return reinterpret_cast<std::uintptr_t>(stream_of(stream)); },
      "stream"_a, nb::sig("def _stream_handle(stream: object) -> int"));
  m.def("_copy_permuted_tensor", torch::copy_permuted, "dst"_a, "src"_a,
        nb::sig("def _copy_permuted_tensor(dst: object, src: object) -> bool"));
  m.def("_jax_handlers", jax::handlers, nb::sig("def _jax_handlers() -> dict[str, object]"));
}

}  // namespace cornerturn::python
