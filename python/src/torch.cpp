#include "torch.hpp"

#include <nanobind/ndarray.h>

#include <string>

namespace cornerturn::python::torch {
namespace {

// DLPackExchangeAPI of DLPack 1.3. The offsets of these members are fixed within a major version.
struct exchange_table {
  std::uint32_t major;
  std::uint32_t minor;
  const exchange_table* previous;
  void* allocate;
  void* to_managed;
  void* from_managed;
  int (*borrow)(void* object, nb::dlpack::dltensor* out);
  int (*current_stream)(int device_type, std::int32_t device, void** out);
};

// Objects that are looked up once. Never freed: static destructors may run after the interpreter has ended.
struct torch_module {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const exchange_table* table = nullptr;
  PyObject* is_grad_enabled = nullptr;
  PyObject* increment_version = nullptr;
  PyObject* dispatch_modes = nullptr;  // () -> int
  PyObject* transforms = nullptr;      // () -> None outside of vmap, grad and similar transformations
  PyObject* forward_ad = nullptr;      // the module
  PyObject* current_level = nullptr;   // name: below 0 outside of forward mode
  PyObject* requires_grad = nullptr;   // names
  PyObject* is_neg = nullptr;
  PyObject* is_conj = nullptr;
  PyObject* new_empty = nullptr;
};

const torch_module* load() {
  nb::object module = nb::module_::import_("torch");
  auto* const made = new torch_module;
  const nb::object tensor = module.attr("Tensor");
  const nb::object capsule = nb::getattr(tensor, "__dlpack_c_exchange_api__", nb::none());
  const nb::object modes = nb::getattr(module.attr("_C"), "_len_torch_dispatch_stack", nb::none());
  const nb::object functorch = nb::getattr(module.attr("_C"), "_functorch", nb::none());
  const nb::object transforms = nb::getattr(functorch, "peek_interpreter_stack", nb::none());
  const nb::object forward_ad = module.attr("autograd").attr("forward_ad");
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") == 0 || modes.is_none() || transforms.is_none() ||
      !nb::hasattr(forward_ad, "_current_level"))
    return made;
  const auto* table = static_cast<const exchange_table*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (table != nullptr && table->major > 1) table = table->previous;
  if (table == nullptr || table->borrow == nullptr || table->current_stream == nullptr) return made;
  made->is_grad_enabled = nb::object(module.attr("is_grad_enabled")).release().ptr();
  made->increment_version = nb::object(module.attr("autograd").attr("graph").attr("increment_version")).release().ptr();
  made->dispatch_modes = nb::object(modes).release().ptr();
  made->transforms = nb::object(transforms).release().ptr();
  made->forward_ad = nb::object(forward_ad).release().ptr();
  made->current_level = PyUnicode_InternFromString("_current_level");
  made->requires_grad = PyUnicode_InternFromString("requires_grad");
  made->is_neg = PyUnicode_InternFromString("is_neg");
  made->is_conj = PyUnicode_InternFromString("is_conj");
  made->new_empty = PyUnicode_InternFromString("new_empty");
  made->parameter = reinterpret_cast<PyTypeObject*>(nb::object(module.attr("nn").attr("Parameter")).release().ptr());
  made->tensor = reinterpret_cast<PyTypeObject*>(nb::object(tensor).release().ptr());
  made->table = table;
  return made;
}

// Returns null if PyTorch is not imported, or too old for the table.
const torch_module* module() {
  static const torch_module* found = nullptr;  // under the interpreter's lock
  if (found == nullptr) {
    if (PyDict_GetItemString(PyImport_GetModuleDict(), "torch") == nullptr) return nullptr;
    found = load();
  }
  return found->table != nullptr ? found : nullptr;
}

PyObject* call_method(nb::handle x, PyObject* name) {
  PyObject* const self = x.ptr();
  return PyObject_VectorcallMethod(name, &self, 1, nullptr);
}

bool is_true(PyObject* stolen) {
  if (stolen == nullptr) throw nb::python_error();
  const int truth = PyObject_IsTrue(stolen);
  Py_DECREF(stolen);
  return truth == 1;
}

bool is_tensor(const torch_module& torch, nb::handle x) {
  return Py_TYPE(x.ptr()) == torch.tensor || Py_TYPE(x.ptr()) == torch.parameter;
}

bool records_gradient(const torch_module& torch, nb::handle x) {
  return is_true(PyObject_GetAttr(x.ptr(), torch.requires_grad)) && is_true(PyObject_CallNoArgs(torch.is_grad_enabled));
}

// vmap, torch.func.grad, fake tensors and forward mode intercept operators, not accesses to memory.
bool is_transformed(const torch_module& torch) {
  if (is_true(PyObject_CallNoArgs(torch.dispatch_modes))) return true;
  const nb::object level = nb::steal(PyObject_GetAttr(torch.forward_ad, torch.current_level));
  if (!level.is_valid()) throw nb::python_error();
  if (nb::cast<int>(level) >= 0) return true;
  const nb::object found = nb::steal(PyObject_CallNoArgs(torch.transforms));
  if (!found.is_valid()) throw nb::python_error();
  return !found.is_none();
}

constexpr int dl_cpu = 1, dl_cuda = 2, dl_cuda_host = 3, dl_cuda_managed = 13;
constexpr auto complex_code = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Complex);

// Returns false unless x is plain memory of the host or of an NVIDIA GPU.
bool borrow(const torch_module& torch, nb::handle x, nb::dlpack::dltensor& found) {
  if (torch.table->borrow(x.ptr(), &found) != 0) {
    PyErr_Clear();
    return false;
  }
  const int device = found.device.device_type;
  if (device != dl_cpu && device != dl_cuda && device != dl_cuda_host && device != dl_cuda_managed) return false;
  if (is_true(call_method(x, torch.is_neg))) return false;
  return found.dtype.code != complex_code || !is_true(call_method(x, torch.is_conj));
}

view view_of(const nb::dlpack::dltensor& x) {
  const std::int64_t bytes = (static_cast<std::int64_t>(x.dtype.bits) * x.dtype.lanes + 7) / 8;
  const bool host = x.device.device_type == dl_cpu || x.device.device_type == dl_cuda_host;
  return {.data = static_cast<std::byte*>(x.data) + x.byte_offset,
          .element_bytes = bytes,
          .rank = x.ndim,
          .extents = x.shape,
          .strides = x.strides,
          .stride_bytes = bytes,
          .where = host ? memory_kind::host : memory_kind::cuda};
}

nb::object empty(const torch_module& torch, nb::handle x, const view& from, const axis_list& axes) {
  const nb::tuple extents = to_tuple(axes, from.extents);
  PyObject* const given[] = {x.ptr(), extents.ptr()};
  PyObject* const made = PyObject_VectorcallMethod(torch.new_empty, given, 2, nullptr);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

std::string text(nb::handle object) { return nb::str(object).c_str(); }

void check_out(nb::handle x, const nb::dlpack::dltensor& from, nb::handle out, const nb::dlpack::dltensor& to) {
  if (!(from.dtype == to.dtype)) {
    throw error(status::invalid_argument, "out has dtype " + text(out.attr("dtype")) + ", but x has " +
                                              text(x.attr("dtype")) + ". Wanted: equal dtypes");
  }
  if (from.device.device_type != to.device.device_type || from.device.device_id != to.device.device_id) {
    throw error(status::invalid_argument, "out is on " + text(out.attr("device")) + ", but x is on " +
                                              text(x.attr("device")) + ". Wanted: one device");
  }
}

bool is_plain(const torch_module& torch, nb::handle x) {
  return is_tensor(torch, x) && !records_gradient(torch, x) && !is_transformed(torch);
}

}  // namespace

std::optional<view> look_at(nb::handle x) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor from;
  if (torch == nullptr || !is_tensor(*torch, x) || is_transformed(*torch) || !borrow(*torch, x, from)) return {};
  return view_of(from);
}

namespace {

void* current_stream(const torch_module& torch, const nb::dlpack::dltensor& x) {
  void* stream = nullptr;
  if (x.device.device_type == dl_cpu || x.device.device_type == dl_cuda_host) return stream;
  if (torch.table->current_stream(x.device.device_type, x.device.device_id, &stream) != 0) throw nb::python_error();
  return stream;
}

// Autograd may have saved x for backward; the version counter reveals the change.
void increment_version_of(const torch_module& torch, nb::handle x) {
  const nb::object done = nb::steal(PyObject_CallFunctionObjArgs(torch.increment_version, x.ptr(), nullptr));
  if (!done.is_valid()) throw nb::python_error();
}

}  // namespace

bool copy_permuted(nb::handle dst, nb::handle src) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor from, to;
  if (torch == nullptr || !borrow(*torch, src, from) || !borrow(*torch, dst, to)) return false;
  const bool compatible = from.dtype == to.dtype && from.device.device_type == to.device.device_type &&
                          from.device.device_id == to.device.device_id;
  return compatible && python::copy_permuted(view_of(to), view_of(from), current_stream(*torch, from));
}

nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor from, to;
  if (torch == nullptr || !is_plain(*torch, x) || !borrow(*torch, x, from)) return {};
  const view src = view_of(from);
  nb::object made;
  axis_list axes;
  if (out.is_none()) {
    axes = resolve(asked, src.rank);
    made = empty(*torch, x, src, axes);
    if (torch->table->borrow(made.ptr(), &to) != 0) throw nb::python_error();
  } else {
    if (!is_tensor(*torch, out) || records_gradient(*torch, out) || !borrow(*torch, out, to)) return {};
    axes = resolve(asked, src.rank);
    check_out(x, from, out, to);
    check_shape(src, axes, view_of(to));
    made = nb::borrow(out);
  }
  run(src, axes, view_of(to), {current_stream(*torch, from), held, asked.threads});
  if (!out.is_none()) increment_version_of(*torch, out);
  return made;
}

nb::object transpose_in_place(nb::handle x, int threads) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor at;
  if (torch == nullptr || !is_plain(*torch, x) || !borrow(*torch, x, at)) return {};
  nb::object result =
      python::transpose_in_place(x, view_of(at), {.stream = current_stream(*torch, at), .threads = threads});
  increment_version_of(*torch, x);
  return result;
}

}  // namespace cornerturn::python::torch
