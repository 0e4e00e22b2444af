// cornerturn._core: the functions of the package and the class `plan`.
//
// Dispatch by the type of array:
//   1. NumPy: numpy.cpp   2. PyTorch tensors without autograd or transformations: torch.cpp
//   3. all others: cornerturn/_frameworks.py, which calls move_memory()
//   4. arithmetic: numpy.cpp or torch.cpp if all arguments are usual, else cornerturn/_arithmetic.py, which calls apply_memory()
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <algorithm>
#include <array>
#include <complex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "axes.hpp"
#include "batch.hpp"
#include "command.hpp"
#include "cornerturn/cornerturn.hpp"
#include "docs.hpp"
#include "element.hpp"
#include "entry.hpp"
#include "jax.hpp"
#include "memory.hpp"
#include "move.hpp"
#include "numpy.hpp"
#include "pattern.hpp"
#include "terms.hpp"
#include "torch.hpp"

namespace cornerturn::python {
namespace {

using namespace nb::literals;

// resolve() refuses more than most_axes. A door refuses an array that has another rank than it says.
int limited(Py_ssize_t rank) { return static_cast<int>(std::clamp<Py_ssize_t>(rank, 0, most_axes + 1)); }

[[noreturn]] void refuse_kind(nb::handle x, const char* name) {
  throw nb::type_error((std::string(name) + " is a " + kind_of(x) +
                        ". Wanted: an array of NumPy, PyTorch, CuPy or JAX, or an object with a shape and "
                        "__array__, __cuda_array_interface__ or __dlpack__")
                           .c_str());
}

// Only the Python modules of this package pass descriptions of memory.
void check_is_array(nb::handle x, const char* name) {
  if (PyTuple_Check(x.ptr()) != 0 || PyDict_Check(x.ptr()) != 0 || PyCapsule_CheckExact(x.ptr())) refuse_kind(x, name);
}

int rank_of(nb::handle x) {
  const nb::object ndim = nb::getattr(x, "ndim", nb::none());  // a nested tensor has no shape
  if (PyIndex_Check(ndim.ptr()) != 0) {
    const Py_ssize_t rank = PyNumber_AsSsize_t(ndim.ptr(), nullptr);
    if (rank != -1 || PyErr_Occurred() == nullptr) return limited(rank);
    PyErr_Clear();
  }
  const nb::object shape = nb::getattr(x, "shape", nb::none());
  const Py_ssize_t rank = shape.is_none() ? -1 : PyObject_Length(shape.ptr());
  if (rank >= 0) return limited(rank);
  PyErr_Clear();
  refuse_kind(x, "x");
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
  const nb::object call = frameworks("permute"), order = to_tuple(axes);
  return until_exit([&] { return nb::object(call(x, order, out, stream, plan, asked.threads)); });
}

nb::object transpose_in_place(nb::handle x, nb::handle stream, int threads) {
  if (!numpy::is_exactly_array(x) && stream.is_none()) {
    if (nb::object result = torch::transpose_in_place(x, threads); result.is_valid()) return result;
  }
  if (numpy::is_array(x)) {
    refuse_stream(stream);
    return numpy::transpose_in_place(x, threads);
  }
  const nb::object call = frameworks("transpose_inplace_");
  return until_exit([&] { return nb::object(call(x, stream, threads)); });
}

void move_memory(nb::handle src, nb::handle dst, nb::handle axes, nb::handle stream, const planned* held, int threads) {
  const request asked = request_of_sequence(axes);
  const execution how{stream_of(stream), held, threads};
  const door of_x(src, "x"), of_out(dst, "out", access::write);
  const view x = of_x.look(), out = of_out.look();
  const axis_list order = resolve(asked, x.rank);
  check_shape(x, order, out);
  if (x.where != out.where) {
    const bool host = x.where == memory_kind::host;
    throw error(status::invalid_argument, std::string("x is ") + (host ? "in host memory" : "on a CUDA device") +
                                              ", but out is not. Wanted: both on one device");
  }
  check_equal_types(of_x, of_out);
  run(x, order, out, how);
}

// x.reshape() of a class comes first: it may run Python code.
nb::object transpose_memory(nb::handle x, nb::handle memory, nb::handle stream, int threads) {
  const execution how{.stream = stream_of(stream), .threads = threads};
  const door of_x(memory, "x", access::write);
  const view before = of_x.look();
  nb::object result = nb::borrow(x);
  if (changes_shape(before)) {
    const nb::object shape = transposed_shape(before);
    result = until_exit([&] { return nb::object(x.attr("reshape")(shape)); });
  }
  run_in_place(of_x.look(), how);
  return result;
}

nb::object or_none(nb::object made) { return made.is_valid() ? made : nb::none(); }

nb::object permute_tensor(nb::handle x, nb::handle axes, nb::handle out, const planned* held) {
  return or_none(torch::permute(x, request_of(axes), out, held));
}

nb::object transpose_tensor(nb::handle x) { return or_none(torch::transpose_in_place(x, 0)); }

bool copy_permuted_memory(nb::handle dst, nb::handle src, nb::handle stream) {
  void* const handle = stream_of(stream);
  const door to(dst, "out", access::write), from(src, "x");
  return copy_permuted(to.look(), from.look(), {.stream = handle});
}

void check_element(nb::handle name, nb::handle dtype, std::int64_t bits, int lanes) {
  static_cast<void>(bytes_of(element_facts{.bits = bits, .lanes = lanes, .text = text_of(dtype)}, text_of(name)));
}

nb::object numbers_of_axes(nb::handle axes) {
  if (axes.is_none() || PyUnicode_Check(axes.ptr()) != 0) return nb::borrow(axes);
  return to_tuple(request_of_sequence(axes).axes);
}

element_type type_of(std::string_view wanted) {
  const element_type found = type_with_name(wanted);
  if (found != element_type::bits) return found;
  throw nb::type_error(("arithmetic has no element type " + std::string(wanted)).c_str());
}

nb::list element_types() {
  nb::list made;
  for (int k = 1; k <= static_cast<int>(element_type::uint64); ++k)
    made.append(name_in_frameworks(static_cast<element_type>(k)));
  return made;
}

scalar scalar_of(std::complex<double> value) { return {value.real(), value.imag()}; }

// `types` are the names of the element types of x and out; `scale` is memory of one float32 on the device of out.
void apply_memory(nb::handle src, nb::handle dst, nb::handle second, nb::handle axes, nb::handle types,
                  std::complex<double> alpha, std::complex<double> beta, bool conj, bool saturate, nb::handle scale,
                  nb::handle stream, int threads) {
  const request asked = request_of_sequence(axes);
  const execution how{.stream = stream_of(stream), .threads = threads};
  const nb::object of_src = nb::borrow(types[0]), of_dst = nb::borrow(types[1]);
  arithmetic math{.src = type_of(utf8_of(of_src, "types")),
                  .dst = type_of(utf8_of(of_dst, "types")),
                  .alpha = scalar_of(alpha),
                  .beta = scalar_of(beta),
                  .conj = conj,
                  .saturate = saturate,
                  .scaled = !scale.is_none(),
                  .second = second.is_none() ? second_array::none : second_array::source};
  const door of_x(src, "x"), of_out(dst, "out", access::write);
  std::optional<door> of_second, of_scale;
  if (!second.is_none()) of_second.emplace(second, "second");
  if (math.scaled) of_scale.emplace(scale, "scale");
  arithmetic_arrays all{.x = of_x.look(), .out = of_out.look()};
  if (of_second) all.second = of_second->look();
  if (of_scale) all.scale = of_scale->look();
  run_arithmetic(all, resolve(asked, all.x.rank), math, how);
}

std::optional<std::string> kernel_of(nb::handle kernel) {
  if (kernel.is_none()) return std::nullopt;
  if (PyUnicode_Check(kernel.ptr()) == 0)
    throw nb::type_error(("kernel is a " + kind_of(kernel) + ". Wanted: a str, or None").c_str());
  const std::string_view found = utf8_of(kernel, "kernel");
  if (found.find('\0') != std::string_view::npos)
    throw error(status::invalid_argument,
                "kernel is '" + escaped(found) + "', which has a NUL. Wanted: the name of a kernel");
  return std::string(found);
}

bool measure_of(nb::handle measure) {
  if (PyBool_Check(measure.ptr()) == 0)
    throw nb::type_error(("measure is a " + kind_of(measure) + ". Wanted: a bool").c_str());
  return measure.ptr() == Py_True;
}

planned planned_of(std::vector<std::int64_t> extents, std::int64_t element_bytes, const problem& what,
                   const axis_list& axes, memory_kind where, int threads, const std::string& kernel, bool measure) {
  const device on = where == memory_kind::cuda ? device::cuda : device::cpu;
  return {
      std::move(extents),
      element_bytes,
      what,
      axes,
      plan(what,
           {.device = on, .threads = threads, .kernel = kernel.empty() ? nullptr : kernel.c_str(), .measure = measure}),
      where,
      threads,
      kernel,
      measure};
}

planned make_plan(nb::handle x, nb::handle axes, nb::handle out, int threads, const std::optional<std::string>& kernel,
                  bool measure) {
  const request asked = request_of(axes);
  check_is_array(x, "x");
  check_is_array(out, "out");
  const door of_x(x);
  std::optional<door> of_out;
  if (!out.is_none()) of_out.emplace(out, "out");
  if (numpy::is_array(x) && numpy::is_array(out)) numpy::check_equal_dtypes(x, out);
  if (of_x.is_described() || (of_out && of_out->is_described()))
    until_exit([&] { return nb::object(frameworks("check_plan")(x, out, threads, kernel)); });
  const view from = of_x.look();
  const axis_list order = resolve(asked, from.rank);
  std::optional<view> to;
  if (of_out) {
    to = of_out->look();
    check_shape(from, order, *to);
    check_equal_types(of_x, *of_out);
    if (to->element_bytes != from.element_bytes)
      throw error(status::invalid_argument, "out has elements of " + std::to_string(to->element_bytes) +
                                                " bytes, wanted " + std::to_string(from.element_bytes) + ", as x has");
  }
  return planned_of({from.extents, from.extents + from.rank}, from.element_bytes,
                    make_problem(from, order, to ? &*to : nullptr), order, from.where, threads, kernel.value_or(""),
                    measure);
}

axis_list in_order(int count) {
  axis_list made{.count = count, .at = {}};
  std::iota(made.at.begin(), made.at.begin() + count, 0);
  return made;
}

// A plan as a tuple, for pickle and copy: a function, which pickle knows by its name, and its arguments.
nb::tuple reduced(const planned& held) {
  nb::list axes;
  for (int k = 0; k < held.what.rank; ++k) {
    const axis& one = held.what.axes[static_cast<std::size_t>(k)];
    axes.append(nb::make_tuple(one.extent, one.src_stride, one.dst_stride));
  }
  return nb::make_tuple(frameworks("restored_plan"),
                        nb::make_tuple(to_tuple(in_order(held.axes.count), held.extents.data()), held.element_bytes,
                                       held.what.element_bytes, axes, to_tuple(held.axes),
                                       held.where == memory_kind::cuda, held.threads, held.kernel, held.measure));
}

planned restored(const std::vector<std::int64_t>& extents, std::int64_t bytes_of_x, std::int64_t element_bytes,
                 const std::vector<std::array<std::int64_t, 3>>& axes, nb::handle order, bool on_cuda, int threads,
                 const std::string& kernel, bool measure) {
  if (axes.size() > static_cast<std::size_t>(max_rank))
    throw error(status::invalid_argument, "the plan has " + std::to_string(axes.size()) + " axes. Wanted: 16 or fewer");
  problem what{.element_bytes = element_bytes, .rank = static_cast<int>(axes.size())};
  for (std::size_t k = 0; k < axes.size(); ++k)
    what.axes[k] = {.extent = axes[k][0], .src_stride = axes[k][1], .dst_stride = axes[k][2]};
  const request asked = request_of_sequence(order);
  const axis_list made = resolve(asked, asked.axes.count);
  if (extents.size() != static_cast<std::size_t>(made.count))
    throw error(status::invalid_argument, "the plan has a shape of other axes. Wanted: a plan of this version");
  return planned_of(extents, bytes_of_x, what, made, on_cuda ? memory_kind::cuda : memory_kind::host, threads, kernel,
                    measure);
}

// Refuses memory of another layout than the plan's.
void check_plan(const planned& held, nb::handle memory, nb::handle other) {
  const door of_x(memory);
  std::optional<door> of_out;
  if (!other.is_none()) of_out.emplace(other, "out");
  const view x = of_x.look(), out = of_out ? of_out->look() : view{};
  static_cast<void>(resolve({.how = request::kind::axes, .axes = held.axes}, x.rank));
  if (of_out) check_shape(x, held.axes, out);
  check_fits(held, make_problem(x, held.axes, of_out ? &out : nullptr), x);
}

void translate(const std::exception_ptr& thrown, void*) { set_error(thrown); }

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
constexpr std::array plan_parameters{
    parameter{"x", &arguments::x},           parameter{"axes", &arguments::how},
    parameter{"out", &arguments::out},       parameter{"threads", &arguments::threads},
    parameter{"kernel", &arguments::kernel}, parameter{"measure", &arguments::measure}};
constexpr std::array call_parameters{parameter{"x", &arguments::x}, parameter{"out", &arguments::out},
                                     parameter{"stream", &arguments::stream}};

constexpr signature of_matrix_transpose{"matrix_transpose", named_parameters, 1, 1, true};
constexpr signature of_permute_dims{"permute_dims", axes_parameters, 2, 2, true};
constexpr signature of_rearrange{"rearrange", pattern_parameters, 2, 2, true, true};
constexpr signature of_transpose_inplace{"transpose_inplace_", in_place_parameters, 1, 1};
constexpr signature of_plan{"plan", plan_parameters, 2, 1};
constexpr signature of_call{"a plan", call_parameters, 1, 1};

nb::object held_permute(nb::handle self, const nb::args& given, const nb::kwargs& named) {
  const arguments sorted = sort(of_call, given, named);
  if (!nb::isinstance<planned>(self) || !nb::inst_ready(self))
    throw nb::type_error(
        ("a plan is called through a " + kind_of(self) + " without its __init__. Wanted: a plan").c_str());
  const auto& held = *nb::inst_ptr<planned>(self);
  const request asked{.how = request::kind::axes, .axes = held.axes};
  return until_exit([&] { return permute(sorted.x, asked, sorted.out, sorted.stream, &held, self); });
}

// ---- the four functions ----

// Returns a null object for arguments that _arithmetic.py must check or convert.
nb::object compute(const arguments& sorted, const request& asked) {
  const std::optional<terms> how = sorted.stream == Py_None ? terms_of(sorted) : std::nullopt;
  if (!how) return {};
  nb::object made = numpy::compute(sorted.x, asked, sorted.out, *how);
  return made.is_valid() ? made : torch::compute(sorted.x, asked, sorted.out, *how);
}

nb::object permute_or_compute(const arguments& sorted, request&& asked) {
  asked.threads = threads_of(sorted.threads);
  if (!sorted.has_math) return permute(sorted.x, asked, sorted.out, sorted.stream);
  if (nb::object made = compute(sorted, asked); made.is_valid()) return made;
  const nb::object axes = to_tuple(resolve(asked, rank_of(sorted.x)));
  const nb::object apply = nb::module_::import_("cornerturn._arithmetic").attr("permute");
  const nb::dict math = math_of(sorted);
  return until_exit([&] {
    return nb::object(
        apply(nb::handle(sorted.x), axes, nb::handle(sorted.out), nb::handle(sorted.stream), asked.threads, **math));
  });
}

// A pattern that splits or joins axes, or has sizes.
nb::object rearrange_parts(const arguments& sorted) {
  const nb::object rearrange = nb::module_::import_("cornerturn._patterns").attr("rearrange");
  nb::dict how = math_of(sorted);
  how["out"] = nb::handle(sorted.out);
  how["stream"] = nb::handle(sorted.stream);
  if (sorted.threads != nullptr) how["threads"] = nb::handle(sorted.threads);
  const nb::object sizes = sorted.sizes.is_valid() ? sorted.sizes : nb::object(nb::dict());
  return until_exit([&] { return nb::object(rearrange(nb::handle(sorted.x), nb::handle(sorted.how), sizes, **how)); });
}

template <class Move>
PyObject* call(const signature& how, PyObject* const* given, Py_ssize_t count, PyObject* keywords, const Move& move) {
  try {
    return until_exit([&] { return move(sort(how, given, count, keywords)).release().ptr(); });
  } catch (const std::exception&) {  // an unwinding of the C library passes: see until_exit
    set_error(std::current_exception());
    return nullptr;
  }
}

PyObject* matrix_transpose(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call(of_matrix_transpose, given, count, keywords,
              [](const arguments& sorted) { return permute_or_compute(sorted, {}); });
}

PyObject* permute_dims(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call(of_permute_dims, given, count, keywords,
              [](const arguments& sorted) { return permute_or_compute(sorted, request_of_sequence(sorted.how)); });
}

PyObject* rearrange(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return call(of_rearrange, given, count, keywords, [](const arguments& sorted) {
    request asked = pattern_of(sorted.how);
    if (sorted.sizes.is_valid() || splits_or_joins(asked.pattern)) return rearrange_parts(sorted);
    return permute_or_compute(sorted, std::move(asked));
  });
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
  nb::set_leak_warnings(false);  // a daemon thread keeps its objects beyond the end of the interpreter
  m.attr("Array") = nb::type_var("Array");
  m.attr("_version") = version();

  if (PyModule_AddFunctions(m.ptr(), functions) < 0) throw nb::python_error();

  nb::class_<planned>(m, "plan", plan_doc, nb::is_weak_referenceable())  // jax.jit wants weak references
      .def(
          "__init__",
          [](planned* self, const nb::args& given, const nb::kwargs& named) {
            until_exit([&] {
              const arguments sorted = sort(of_plan, given, named);
              const nb::handle axes = sorted.how != nullptr ? nb::handle(sorted.how) : nb::none();
              new (self) planned(make_plan(sorted.x, axes, sorted.out, threads_of(sorted.threads),
                                           kernel_of(sorted.kernel), measure_of(sorted.measure)));
            });
          },
          nb::sig("def __init__(self, x: object, axes: Sequence[int] | str | None = None, *, out: object = None, "
                  "threads: int = 0, kernel: str | None = None, measure: bool = False) -> None"))
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
      .def("__reduce__", reduced, nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def("__repr__", [](const planned& self) {
        return "<cornerturn.plan: " + std::to_string(self.how.bytes_moved()) + " bytes by " + self.how.kernel() + ">";
      });

  m.def("backends", backends_as_dicts, nb::sig("def backends() -> list[dict[str, str | bool]]"),
        "Describe each backend of this build: its name, whether it is present, and a sentence.");

  m.def("load_machine", entered(+[](const std::string& file) { load_machine(file); }), "file"_a,
        nb::sig("def load_machine(file: str) -> None"),
        "Use the constants of a file of `cornerturn calibrate` in later plans on the machine that it describes.");

  // For the Python modules of this package.
  m.def("_kind", kind_of, "object"_a.none(), nb::sig("def _kind(object: object) -> str"),
        "Return the name of a class, escaped for a sentence.");
  m.def("_shown", shown, "object"_a.none(), nb::sig("def _shown(object: object) -> str"),
        "Return repr(object), escaped for a sentence.");
  m.def("_available_memory", entered(available_memory), nb::sig("def _available_memory() -> int"),
        "Return the bytes that this process can still allocate, within the limits of its control groups.");
  m.def("_element_types", entered(element_types), nb::sig("def _element_types() -> list[str]"));
  m.def("_move_memory", entered(move_memory), "src"_a, "dst"_a, "axes"_a, "stream"_a = nb::none(),
        "plan"_a = nb::none(), "threads"_a = 0,
        nb::sig("def _move_memory(src: object, dst: object, axes: Sequence[int], stream: object = None, "
                "plan: plan | None = None, threads: int = 0) -> None"));
  m.def("_check_plan", entered(check_plan), "plan"_a, "memory"_a, "out"_a = nb::none(),
        nb::sig("def _check_plan(plan: plan, memory: object, out: object = None) -> None"));
  m.def("_apply_memory", entered(apply_memory), "src"_a, "dst"_a, "second"_a.none(), "axes"_a, "types"_a, nb::kw_only(),
        "alpha"_a, "beta"_a, "conj"_a, "saturate"_a, "scale"_a.none(), "stream"_a.none(), "threads"_a,
        nb::sig("def _apply_memory(src: object, dst: object, second: object, axes: Sequence[int], "
                "types: tuple[str, str], *, alpha: complex, beta: complex, conj: bool, saturate: bool, scale: object, "
                "stream: object, threads: int) -> None"));
  m.def("_transpose_memory", entered(transpose_memory), "x"_a, "memory"_a, "stream"_a = nb::none(), "threads"_a = 0,
        nb::sig("def _transpose_memory(x: Array, memory: object, stream: object = None, threads: int = 0) -> Array"));
  m.def("_permute_tensor", entered(permute_tensor), "x"_a.none(), "axes"_a.none(), "out"_a.none(),
        "plan"_a = nb::none(),
        nb::sig("def _permute_tensor(x: Array, axes: Sequence[int] | str | None, out: Array | None, "
                "plan: plan | None = None) -> Array | None"),
        "Permute plain tensors; return None for tensors that need the operator.");
  m.def("_transpose_tensor", entered(transpose_tensor), "x"_a.none(),
        nb::sig("def _transpose_tensor(x: Array) -> Array | None"),
        "Transpose a plain tensor in place; return None for a tensor that needs the operator.");
  m.def("_resolve_axes",
        entered(+[](nb::handle axes, int rank) { return to_tuple(resolve(request_of(axes), limited(rank))); }),
        "axes"_a.none(), "rank"_a,
        nb::sig("def _resolve_axes(axes: Sequence[int] | str | None, rank: int) -> tuple[int, ...]"));
  m.def("_axes_of_sequence",
        entered(+[](nb::handle axes, int rank) { return to_tuple(resolve(request_of_sequence(axes), limited(rank))); }),
        "axes"_a.none(), "rank"_a, nb::sig("def _axes_of_sequence(axes: Sequence[int], rank: int) -> tuple[int, ...]"));
  m.def("_axes_of_pattern",
        entered(+[](nb::handle pattern, int rank) { return to_tuple(resolve(pattern_of(pattern), limited(rank))); }),
        "pattern"_a.none(), "rank"_a, nb::sig("def _axes_of_pattern(pattern: str, rank: int) -> tuple[int, ...]"));
  m.def(
      "_parts_of_pattern", entered(+[](nb::handle pattern, int rank) {
        return parts_of_pattern(pattern_of(pattern).pattern, limited(rank));
      }),
      "pattern"_a.none(), "rank"_a,
      nb::sig("def _parts_of_pattern(pattern: str, rank: int) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...], "
              "tuple[int, ...]]"),
      "Return the names of the parts of each axis of x, their permutation, and the number of parts of each axis of the "
      "result.");
  m.def("_splits_or_joins", entered(+[](nb::handle pattern) { return splits_or_joins(pattern_of(pattern).pattern); }),
        "pattern"_a, nb::sig("def _splits_or_joins(pattern: str) -> bool"));
  m.def("_check_element", entered(check_element), "name"_a, "dtype"_a, "bits"_a, "lanes"_a,
        nb::sig("def _check_element(name: str, dtype: str, bits: int, lanes: int) -> None"),
        "Raise a TypeError for elements that cannot be moved.");
  m.def("_numbers_of_axes", entered(numbers_of_axes), "axes"_a.none(),
        nb::sig("def _numbers_of_axes(axes: Sequence[int] | str | None) -> tuple[int, ...] | str | None"),
        "Return the integers of a sequence, which may be an iterator; a str and None as they are.");
  m.def("_stream_handle",
        entered(+[](nb::handle stream) { return reinterpret_cast<std::uintptr_t>(stream_of(stream)); }), "stream"_a,
        nb::sig("def _stream_handle(stream: object) -> int"));
  m.def("_are_plain_tensors", entered(torch::are_plain), "tensors"_a, "memory"_a = true,
        nb::sig("def _are_plain_tensors(tensors: Sequence[object], memory: bool = True) -> bool"),
        "Return whether no tensor needs the operators; see torch.hpp.");
  m.def("_records_only", entered(torch::records_only), "x"_a, nb::sig("def _records_only(x: object) -> bool"),
        "Return whether a gradient is the only reason for an operator.");
  m.def("_restored_plan", entered(restored), "extents"_a, "bytes_of_x"_a, "element_bytes"_a, "axes"_a, "order"_a,
        "on_cuda"_a, "threads"_a, "kernel"_a, "measure"_a = false,
        nb::sig("def _restored_plan(extents: Sequence[int], bytes_of_x: int, element_bytes: int, axes: "
                "Sequence[Sequence[int]], order: Sequence[int], "
                "on_cuda: bool, threads: int, kernel: str, measure: bool = False) -> plan"));
  m.def("_switch_copies", entered(torch::switch_copies), "cpu"_a, "cuda"_a,
        nb::sig("def _switch_copies(cpu: bool, cuda: bool) -> None"));
  m.def("_copies", torch::copies, nb::sig("def _copies() -> int"), "Return the number of copies by `accelerate`.");
  m.def("_copy_permuted_memory", entered(copy_permuted_memory), "dst"_a, "src"_a, "stream"_a.none(),
        nb::sig("def _copy_permuted_memory(dst: object, src: object, stream: object) -> bool"));
  nb::class_<bound_batch>(m, "_batch", "The C++ side of `cornerturn.batch`.")
      .def("__init__",
           entered(+[](bound_batch* self, nb::handle xs, nb::handle outs, nb::handle axes, nb::handle threads) {
             new (self) bound_batch(xs, outs, axes, threads_of(threads));
           }),
           "xs"_a, "outs"_a, "axes"_a.none(), "threads"_a.none(),
           nb::sig("def __init__(self, xs: Sequence[object], outs: Sequence[object], axes: Sequence[int] | str | None, "
                   "threads: int) -> None"))
      .def("execute", entered(+[](const bound_batch& self, nb::handle stream) { self.execute(stream); }),
           "stream"_a = nb::none(), nb::sig("def execute(self, stream: object = None) -> None"))
      .def("explain", &bound_batch::explain)
      .def_prop_ro("bytes_moved", &bound_batch::bytes_moved)
      .def_prop_ro("threads", &bound_batch::threads)
      .def_prop_ro("on_cuda", &bound_batch::on_cuda);
  m.def("_run_command", run_command, "arguments"_a, nb::sig("def _run_command(arguments: list[str]) -> int"),
        "Run the command. A str is a name of a file: bytes that are no UTF-8 are surrogates, as in sys.argv.");
  m.def("_jax_handlers", jax::handlers, nb::sig("def _jax_handlers() -> dict[str, object]"));
}

}  // namespace cornerturn::python
