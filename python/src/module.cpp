// cornerturn._core: the functions of the package and the class `plan`.
//
// Dispatch by the type of array:
//   1. NumPy: numpy.cpp   2. PyTorch tensors without autograd or transformations: torch.cpp
//   3. all others: cornerturn/_frameworks.py, which calls move_memory()
//   4. arithmetic: cornerturn/_arithmetic.py, which calls apply_memory()
#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <array>
#include <complex>
#include <optional>

#include "axes.hpp"
#include "batch.hpp"
#include "command.hpp"
#include "cornerturn/cornerturn.hpp"
#include "docs.hpp"
#include "entry.hpp"
#include "jax.hpp"
#include "memory.hpp"
#include "move.hpp"
#include "numpy.hpp"
#include "torch.hpp"

namespace cornerturn::python {
namespace {

using namespace nb::literals;

int rank_of(nb::handle x) {
  const nb::object ndim = nb::getattr(x, "ndim", nb::none());  // a nested tensor has no shape
  if (nb::isinstance<nb::int_>(ndim)) return nb::cast<int>(ndim);
  const nb::object shape = nb::getattr(x, "shape", nb::none());
  const Py_ssize_t rank = shape.is_none() ? -1 : PyObject_Length(shape.ptr());
  if (rank >= 0) return static_cast<int>(rank);
  PyErr_Clear();
  throw nb::type_error(("x is a " + kind_of(x) +
                        ". Wanted: an array of NumPy, PyTorch, CuPy or JAX, or an object with a shape and "
                        "__cuda_array_interface__ or __dlpack__")
                           .c_str());
}

void refuse_stream(nb::handle stream) {
  if (stream.is_none()) return;
  throw nb::type_error("stream is given, but x is a numpy.ndarray, which is in host memory. Wanted: no stream");
}

nb::object permute(nb::handle x, const request& asked, nb::handle out, nb::handle stream, const planned* held = nullptr,
                   nb::handle plan = nb::none()) {
  if (!numpy::is_exactly_array(x) && stream.is_none()) {
    if (nb::object made = torch::permute(x, asked, out, held); made.is_valid()) return made;
  }
  if (numpy::is_array(x)) {
    refuse_stream(stream);
    return numpy::permute(x, asked, out, held);
  }
  const axis_list axes = resolve(asked, rank_of(x));
  return frameworks("permute")(x, to_tuple(axes), out, stream, plan, asked.threads);
}

nb::object transpose_in_place(nb::handle x, nb::handle stream, int threads) {
  if (!numpy::is_exactly_array(x) && stream.is_none()) {
    if (nb::object result = torch::transpose_in_place(x, threads); result.is_valid()) return result;
  }
  if (numpy::is_array(x)) {
    refuse_stream(stream);
    return numpy::transpose_in_place(x, threads);
  }
  return frameworks("transpose_inplace_")(x, stream, threads);
}

void move_memory(nb::handle src, nb::handle dst, nb::handle axes, nb::handle stream, const planned* held, int threads) {
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
    throw error(status::invalid_argument, "the elements of out and x have " + std::to_string(out.is.element_bytes) +
                                              " and " + std::to_string(x.is.element_bytes) +
                                              " bytes. Wanted: equal sizes");
  }
  run(x.is, order, out.is, {stream_of(stream), held, threads});
}

element_type type_of(std::string_view wanted) {
  for (int k = 1; k <= static_cast<int>(element_type::uint64); ++k) {
    if (wanted == name(static_cast<element_type>(k))) return static_cast<element_type>(k);
  }
  throw nb::type_error(("arithmetic has no element type " + std::string(wanted)).c_str());
}

nb::list element_types() {
  nb::list made;
  for (int k = 1; k <= static_cast<int>(element_type::uint64); ++k) {
    const std::string_view one = name(static_cast<element_type>(k));
    made.append(nb::str(one.data(), one.size()));
  }
  return made;
}

scalar scalar_of(std::complex<double> value) { return {value.real(), value.imag()}; }

// `types` are the names of the element types of x and out; `scale` is memory of one float32 on the device of out.
void apply_memory(nb::handle src, nb::handle dst, nb::handle second, nb::handle axes, nb::handle types,
                  std::complex<double> alpha, std::complex<double> beta, bool conj, bool saturate, nb::handle scale,
                  nb::handle stream, int threads) {
  const described x(src), out(dst, true);
  std::optional<described> other, factor;
  if (!second.is_none()) other.emplace(second);
  if (!scale.is_none()) factor.emplace(scale);
  const axis_list order = resolve({.how = request::kind::axes, .axes = axes}, x.is.rank);
  const arithmetic math{.src = type_of(nb::cast<std::string_view>(types[0])),
                        .dst = type_of(nb::cast<std::string_view>(types[1])),
                        .alpha = scalar_of(alpha),
                        .beta = scalar_of(beta),
                        .conj = conj,
                        .saturate = saturate,
                        .scaled = factor.has_value(),
                        .second = other ? second_array::source : second_array::none};
  run_arithmetic(x.is, order, out.is, other ? &other->is : nullptr, math,
                 factor ? static_cast<const float*>(factor->is.data) : nullptr,
                 {.stream = stream_of(stream), .threads = threads});
}

std::optional<std::string> kernel_of(nb::handle kernel) {
  if (kernel.is_none()) return std::nullopt;
  if (PyUnicode_Check(kernel.ptr()) == 0)
    throw nb::type_error(("kernel is a " + kind_of(kernel) + ". Wanted: a str, or None").c_str());
  return nb::cast<std::string>(kernel);
}

planned make_plan(nb::handle x, nb::handle axes, nb::handle out, int threads,
                  const std::optional<std::string>& kernel) {
  std::optional<described> of_x, of_out;
  const view from = look_at(x, of_x);
  const axis_list order = resolve(request_of(axes), from.rank);
  std::optional<view> to;
  if (!out.is_none()) {
    to = look_at(out, of_out, "out");
    check_shape(from, order, *to);
  }
  const problem what = make_problem(from, order, to ? &*to : nullptr);
  const device on = from.where == memory_kind::cuda ? device::cuda : device::cpu;
  return {what, order, plan(what, {.on = on, .threads = threads, .kernel = kernel ? kernel->c_str() : nullptr})};
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

// ---- the parameters of the functions ----

constexpr std::array named_parameters{parameter{"x", &arguments::x, false}, parameter{"out", &arguments::out},
                                      parameter{"stream", &arguments::stream},
                                      parameter{"threads", &arguments::threads}};
constexpr std::array axes_parameters{parameter{"x", &arguments::x, false}, parameter{"axes", &arguments::how},
                                     parameter{"out", &arguments::out}, parameter{"stream", &arguments::stream},
                                     parameter{"threads", &arguments::threads}};
constexpr std::array pattern_parameters{parameter{"x", &arguments::x, false}, parameter{"pattern", &arguments::how},
                                        parameter{"out", &arguments::out}, parameter{"stream", &arguments::stream},
                                        parameter{"threads", &arguments::threads}};
constexpr std::array in_place_parameters{parameter{"x", &arguments::x, false}, parameter{"stream", &arguments::stream},
                                         parameter{"threads", &arguments::threads}};
constexpr std::array plan_parameters{parameter{"x", &arguments::x}, parameter{"axes", &arguments::how},
                                     parameter{"out", &arguments::out}, parameter{"threads", &arguments::threads},
                                     parameter{"kernel", &arguments::kernel}};
constexpr std::array call_parameters{parameter{"x", &arguments::x}, parameter{"out", &arguments::out},
                                     parameter{"stream", &arguments::stream}};

constexpr signature of_matrix_transpose{"matrix_transpose", named_parameters, 1, 1, true};
constexpr signature of_permute_dims{"permute_dims", axes_parameters, 2, 2, true};
constexpr signature of_rearrange{"rearrange", pattern_parameters, 2, 2, true};
constexpr signature of_transpose_inplace{"transpose_inplace_", in_place_parameters, 1, 1};
constexpr signature of_plan{"plan", plan_parameters, 2, 1};
constexpr signature of_call{"a plan", call_parameters, 1, 1};

nb::object held_permute(nb::handle self, const nb::args& given, const nb::kwargs& named) {
  const arguments sorted = sort(of_call, given, named);
  const auto& held = nb::cast<const planned&>(self);
  const nb::tuple axes = to_tuple(held.axes);
  return permute(sorted.x, {.how = request::kind::axes, .axes = axes}, sorted.out, sorted.stream, &held, self);
}

// ---- the four functions ----

nb::object permute(const arguments& sorted, request asked) {
  asked.threads = threads_of(sorted.threads);
  if (!sorted.math.is_valid()) return permute(sorted.x, asked, sorted.out, sorted.stream);
  const axis_list axes = resolve(asked, rank_of(sorted.x));
  const nb::object apply = nb::module_::import_("cornerturn._arithmetic").attr("permute");
  return apply(nb::handle(sorted.x), to_tuple(axes), nb::handle(sorted.out), nb::handle(sorted.stream), asked.threads,
               **nb::borrow<nb::dict>(sorted.math));
}

template <class Move>
PyObject* call(const signature& how, PyObject* const* given, Py_ssize_t count, PyObject* keywords, const Move& move) {
  try {
    return move(sort(how, given, count, keywords)).release().ptr();
  } catch (...) {
    set_error(std::current_exception());
    return nullptr;
  }
}

PyObject* matrix_transpose(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call(of_matrix_transpose, given, count, keywords, [](const arguments& sorted) { return permute(sorted, {}); });
}

PyObject* permute_dims(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call(of_permute_dims, given, count, keywords, [](const arguments& sorted) {
    return permute(sorted, {.how = request::kind::axes, .axes = sorted.how});
  });
}

PyObject* rearrange(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call(of_rearrange, given, count, keywords,
              [](const arguments& sorted) { return permute(sorted, pattern_of(sorted.how)); });
}

PyObject* transpose_inplace(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call(of_transpose_inplace, given, count, keywords, [](const arguments& sorted) {
    return transpose_in_place(sorted.x, sorted.stream, threads_of(sorted.threads));
  });
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
          [](planned* self, const nb::args& given, const nb::kwargs& named) {
            const arguments sorted = sort(of_plan, given, named);
            const nb::handle axes = sorted.how != nullptr ? nb::handle(sorted.how) : nb::none();
            new (self)
                planned(make_plan(sorted.x, axes, sorted.out, threads_of(sorted.threads), kernel_of(sorted.kernel)));
          },
          nb::sig("def __init__(self, x: object, axes: Sequence[int] | str | None = None, *, out: object = None, "
                  "threads: int = 0, kernel: str | None = None) -> None"))
      .def("__call__", held_permute,
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
  m.def("_element_types", element_types, nb::sig("def _element_types() -> list[str]"));
  m.def("_move_memory", move_memory, "src"_a, "dst"_a, "axes"_a, "stream"_a = nb::none(), "plan"_a = nb::none(),
        "threads"_a = 0,
        nb::sig("def _move_memory(src: object, dst: object, axes: Sequence[int], stream: object = None, "
                "plan: plan | None = None, threads: int = 0) -> None"));
  m.def("_apply_memory", apply_memory, "src"_a, "dst"_a, "second"_a.none(), "axes"_a, "types"_a, nb::kw_only(),
        "alpha"_a, "beta"_a, "conj"_a, "saturate"_a, "scale"_a.none(), "stream"_a.none(), "threads"_a,
        nb::sig("def _apply_memory(src: object, dst: object, second: object, axes: Sequence[int], "
                "types: tuple[str, str], *, alpha: complex, beta: complex, conj: bool, saturate: bool, scale: object, "
                "stream: object, threads: int) -> None"));
  m.def(
      "_transpose_memory",
      [](nb::handle x, nb::handle memory, nb::handle stream, int threads) {
        return transpose_in_place(x, described(memory, true).is, {.stream = stream_of(stream), .threads = threads});
      },
      "x"_a, "memory"_a, "stream"_a = nb::none(), "threads"_a = 0,
      nb::sig("def _transpose_memory(x: Array, memory: object, stream: object = None, threads: int = 0) -> Array"));
  m.def(
      "_permute_tensor",
      [](nb::handle x, nb::handle axes, nb::handle out) -> nb::object {
        nb::object made = torch::permute(x, request_of(axes), out, nullptr);
        return made.is_valid() ? made : nb::none();
      },
      "x"_a.none(), "axes"_a.none(), "out"_a.none(),
      nb::sig("def _permute_tensor(x: Array, axes: Sequence[int] | str | None, out: Array | None) -> Array | None"),
      "Permute plain tensors; return None for tensors that need the operator.");
  m.def(
      "_transpose_tensor",
      [](nb::handle x) -> nb::object {
        nb::object made = torch::transpose_in_place(x, 0);
        return made.is_valid() ? made : nb::none();
      },
      "x"_a.none(), nb::sig("def _transpose_tensor(x: Array) -> Array | None"),
      "Transpose a plain tensor in place; return None for a tensor that needs the operator.");
  m.def(
      "_resolve_axes", [](nb::handle axes, int rank) { return to_tuple(resolve(request_of(axes), rank)); },
      "axes"_a.none(), "rank"_a,
      nb::sig("def _resolve_axes(axes: Sequence[int] | str | None, rank: int) -> tuple[int, ...]"));
  m.def(
      "_axes_of_sequence",
      [](nb::handle axes, int rank) { return to_tuple(resolve({.how = request::kind::axes, .axes = axes}, rank)); },
      "axes"_a.none(), "rank"_a, nb::sig("def _axes_of_sequence(axes: Sequence[int], rank: int) -> tuple[int, ...]"));
  m.def(
      "_axes_of_pattern", [](nb::handle pattern, int rank) { return to_tuple(resolve(pattern_of(pattern), rank)); },
      "pattern"_a.none(), "rank"_a, nb::sig("def _axes_of_pattern(pattern: str, rank: int) -> tuple[int, ...]"));
  m.def(
      "_stream_handle", [](nb::handle stream) { return reinterpret_cast<std::uintptr_t>(stream_of(stream)); },
      "stream"_a, nb::sig("def _stream_handle(stream: object) -> int"));
  m.def("_copy_permuted_tensor", torch::copy_permuted, "dst"_a, "src"_a,
        nb::sig("def _copy_permuted_tensor(dst: object, src: object) -> bool"));
  m.def(
      "_copy_permuted_memory",
      [](nb::handle dst, nb::handle src, nb::handle stream) {
        return copy_permuted(described(dst, true).is, described(src).is, stream_of(stream));
      },
      "dst"_a, "src"_a, "stream"_a.none(),
      nb::sig("def _copy_permuted_memory(dst: object, src: object, stream: object) -> bool"));
  nb::class_<bound_batch>(m, "_batch", "The C++ side of `cornerturn.batch`.")
      .def(
          "__init__",
          [](bound_batch* self, nb::handle xs, nb::handle outs, nb::handle axes, nb::handle threads) {
            new (self) bound_batch(xs, outs, axes, threads_of(threads));
          },
          "xs"_a, "outs"_a, "axes"_a.none(), "threads"_a.none(),
          nb::sig("def __init__(self, xs: Sequence[object], outs: Sequence[object], axes: Sequence[int] | str | None, "
                  "threads: int) -> None"))
      .def("execute", &bound_batch::execute, "stream"_a = nb::none(),
           nb::sig("def execute(self, stream: object = None) -> None"))
      .def("explain", &bound_batch::explain)
      .def_prop_ro("bytes_moved", &bound_batch::bytes_moved)
      .def_prop_ro("threads", &bound_batch::threads)
      .def_prop_ro("on_cuda", &bound_batch::on_cuda);
  m.def("_run_command", run_command, "arguments"_a, nb::sig("def _run_command(arguments: list[str]) -> int"));
  m.def("_jax_handlers", jax::handlers, nb::sig("def _jax_handlers() -> dict[str, object]"));
}

}  // namespace cornerturn::python
