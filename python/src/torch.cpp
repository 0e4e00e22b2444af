// See torch.hpp. Shapes, strides and streams come from the function table; move.cpp plans and copies.
#include "torch.hpp"

#include <dlfcn.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "element.hpp"

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

// Functions of PyTorch's stable C interface: a tensor is the address of a pointer to its C++ object.
using storage_query = std::int32_t (*)(const void* tensor, std::int64_t* found);
// Functions of PyTorch's C++ interface with static dispatch: an at::Tensor& is an address too.
using tensor_query = bool (*)(const void* tensor);

// Objects that are looked up once. Never freed: static destructors may run after the interpreter has ended.
struct torch_module {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  PyTypeObject* device_context = nullptr;
  const exchange_table* table = nullptr;
  PyObject* is_grad_enabled = nullptr;
  PyObject* increment_version = nullptr;  // takes a tuple of tensors
  PyObject* function_modes = nullptr;     // () -> int
  PyObject* function_mode_at = nullptr;   // (int) -> mode
  PyObject* included_keys = nullptr;      // () -> DispatchKeySet
  PyObject* forward_ad = nullptr;         // dicts of modules, and the names of their variables
  PyObject* profiler = nullptr;
  PyObject* current_level = nullptr;  // below 0 outside of forward mode
  PyObject* is_profiler_enabled = nullptr;
  PyObject* requires_grad = nullptr;  // names of attributes
  PyObject* is_neg = nullptr;
  PyObject* is_conj = nullptr;
  PyObject* is_inference = nullptr;
  PyObject* new_empty = nullptr;
  PyObject* dtype_name = nullptr;
  PyObject* names_of_new_empty = nullptr;  // a tuple of dtype_name
  PyObject* detach = nullptr;              // torch.Tensor.detach
  storage_query bytes_of_storage = nullptr;
  storage_query offset_in_storage = nullptr;
  tensor_query tells_neg = nullptr;  // null: the method of the Python class tells it
  tensor_query tells_conj = nullptr;
  tensor_query tells_inference = nullptr;
  tensor_query needs_gradient = nullptr;  // takes the address of the tensor's C++ object
  std::size_t impl = 0;                   // bytes from a Python tensor to the pointer to its C++ tensor
  // The dtype of each element type, or null.
  std::array<PyObject*, static_cast<std::size_t>(element_type::uint64) + 1> dtypes{};
  void* c10 = nullptr;               // libc10.so, if its variable can be read
  std::uint64_t default_keys = 0;    // included outside of modes and transforms
  std::uint64_t inference_keys = 0;  // these differ in inference mode
};

// Finds the functions that tell a tensor's storage, whose size other code may change, and its lazy bits. Older versions lack
// some of it.
void find_queries(torch_module& torch, nb::handle module) {
  Dl_info library;
  if (dladdr(reinterpret_cast<const void*>(torch.table->borrow), &library) == 0) return;
  void* const handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);  // its dependencies are searched too
  if (handle == nullptr) return;
  const auto bytes = reinterpret_cast<storage_query>(dlsym(handle, "aoti_torch_get_storage_size"));
  const auto offset = reinterpret_cast<storage_query>(dlsym(handle, "aoti_torch_get_storage_offset"));
  const nb::object one = module.attr("empty")(3), other = module.attr("empty")(5);
  const auto address = nb::cast<std::uintptr_t>(one.attr("_cdata")),
             other_address = nb::cast<std::uintptr_t>(other.attr("_cdata"));
  const auto pointer = [](nb::handle tensor, std::size_t place) {
    std::uintptr_t found = 0;
    std::memcpy(&found, reinterpret_cast<const char*>(tensor.ptr()) + place, sizeof found);
    return found;
  };
  for (const std::size_t place : {sizeof(PyObject), sizeof(PyObject) + sizeof(void*)}) {
    if (bytes == nullptr || offset == nullptr || pointer(one, place) != address ||
        pointer(other, place) != other_address)
      continue;
    torch.bytes_of_storage = bytes;
    torch.offset_in_storage = offset;
    torch.impl = place;
    const auto query = [&](const char* name) { return reinterpret_cast<tensor_query>(dlsym(handle, name)); };
    torch.tells_neg = query("_ZN2at25compositeimplicitautograd6is_negERKNS_6TensorE");
    torch.tells_conj = query("_ZN2at25compositeimplicitautograd7is_conjERKNS_6TensorE");
    torch.tells_inference = query("_ZN2at25compositeimplicitautograd12is_inferenceERKNS_6TensorE");
    torch.needs_gradient = query("_ZNK3c1010TensorImpl13requires_gradEv");
    return;
  }
}

// ---- the dispatch keys that a thread includes ----
//
// Each dispatch mode, transform of torch.func, functionalization and tracer includes a key for its thread. c10 stores the
// difference to the default in a variable of the thread. Its name is not documented, so load() compares it with the public
// function, and the public function replaces a variable that is absent or different.

constexpr const char* keys_variable = "_ZN3c104impl26raw_local_dispatch_key_setE";

std::uint64_t read_keys(const torch_module& torch) {
  thread_local const std::uint64_t* keys = nullptr;
  if (keys == nullptr) keys = static_cast<const std::uint64_t*>(dlsym(torch.c10, keys_variable));
  return *keys;
}

std::uint64_t ask_keys(const torch_module& torch) {
  const nb::object found = nb::steal(PyObject_CallNoArgs(torch.included_keys));
  if (!found.is_valid()) throw nb::python_error();
  return nb::cast<std::uint64_t>(found.attr("raw_repr")()) ^ torch.default_keys;
}

std::uint64_t unusual_keys(const torch_module& torch) {
  return (torch.c10 != nullptr ? read_keys(torch) : ask_keys(torch)) & ~torch.inference_keys;
}

void load_keys(torch_module& made, nb::handle module) {
  const nb::object internals = module.attr("_C");
  made.included_keys = nb::object(internals.attr("_dispatch_tls_local_include_set")).release().ptr();
  const nb::object key = internals.attr("DispatchKey");
  const nb::object normal =
      internals.attr("DispatchKeySet")(key.attr("BackendSelect")).attr("add")(key.attr("ADInplaceOrView"));
  made.default_keys = nb::cast<std::uint64_t>(normal.attr("raw_repr")());
  const nb::object inference = module.attr("inference_mode");
  const auto in_mode = [&](bool on, const auto& read) {
    const nb::object mode = inference(on);
    mode.attr("__enter__")();
    const std::uint64_t found = read();
    mode.attr("__exit__")(nb::none(), nb::none(), nb::none());
    return found;
  };
  const auto ask = [&] { return ask_keys(made); };
  made.inference_keys = in_mode(true, ask) ^ in_mode(false, ask);
  void* const library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr || dlsym(library, keys_variable) == nullptr) return;
  made.c10 = library;
  const auto differs = [&] { return read_keys(made) != ask_keys(made) ? 1 : 0; };
  if (in_mode(true, differs) + in_mode(false, differs) != 0) made.c10 = nullptr;
}

void load_dtypes(torch_module& made, nb::handle module) {
  made.dtype_name = PyUnicode_InternFromString("dtype");
  made.names_of_new_empty = PyTuple_Pack(1, made.dtype_name);
  for (std::size_t k = 1; k < made.dtypes.size(); ++k) {
    nb::object found = nb::getattr(module, name_in_frameworks(static_cast<element_type>(k)), nb::none());
    if (!found.is_none()) made.dtypes[k] = found.release().ptr();
  }
}

// Returns null for a module without tensors, or while this thread imports PyTorch. Leaves `table` null if it is too old.
const torch_module* load() {
  nb::object module = nb::module_::import_("torch");  // waits for another thread that imports it
  const nb::object tensor = nb::getattr(module, "Tensor", nb::none());
  const nb::object is_importing = nb::getattr(nb::getattr(module, "__spec__", nb::none()), "_initializing", nb::none());
  if (PyType_Check(tensor.ptr()) == 0 || is_importing.is(nb::handle(Py_True))) return nullptr;
  auto* const made = new torch_module;
  const nb::object capsule = nb::getattr(tensor, "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") == 0) return made;
  const auto* table = static_cast<const exchange_table*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (table != nullptr && table->major > 1) table = table->previous;
  if (table == nullptr || table->borrow == nullptr || table->current_stream == nullptr) return made;
  const auto kept = [](const nb::object& found) { return nb::object(found).release().ptr(); };
  const auto variable = [&](const char* in, const char* name, PyObject*& dict, PyObject*& word) {
    dict = kept(nb::module_::import_(in).attr("__dict__"));
    word = PyUnicode_InternFromString(name);
    return PyDict_GetItem(dict, word) != nullptr;
  };
  try {
    const nb::object internals = module.attr("_C");
    if (!variable("torch.autograd.forward_ad", "_current_level", made->forward_ad, made->current_level) ||
        !variable("torch.autograd.profiler", "_is_profiler_enabled", made->profiler, made->is_profiler_enabled))
      return made;
    load_keys(*made, module);
    made->is_grad_enabled = kept(module.attr("is_grad_enabled"));
    made->increment_version = kept(internals.attr("_increment_version"));
    made->function_modes = kept(internals.attr("_len_torch_function_stack"));
    made->function_mode_at = kept(internals.attr("_get_function_stack_at"));
    made->parameter = reinterpret_cast<PyTypeObject*>(kept(module.attr("nn").attr("Parameter")));
    made->device_context =
        reinterpret_cast<PyTypeObject*>(kept(nb::module_::import_("torch.utils._device").attr("DeviceContext")));
    made->detach = kept(tensor.attr("detach"));
    made->tensor = reinterpret_cast<PyTypeObject*>(kept(tensor));
  } catch (const nb::python_error&) {  // a version without these functions: each call uses the operator
    return made;
  }
  made->requires_grad = PyUnicode_InternFromString("requires_grad");
  made->is_neg = PyUnicode_InternFromString("is_neg");
  made->is_conj = PyUnicode_InternFromString("is_conj");
  made->is_inference = PyUnicode_InternFromString("is_inference");
  made->new_empty = PyUnicode_InternFromString("new_empty");
  load_dtypes(*made, module);
  made->table = table;
  find_queries(*made, module);
  return made;
}

// Returns null if PyTorch is not imported, or too old for the table. An entry that is None hides it from imports.
const torch_module* module() {
  static const torch_module* found = nullptr;  // under the interpreter's lock
  if (found == nullptr) {
    PyObject* const imported = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
    if (imported == nullptr || imported == Py_None) return nullptr;
    found = load();
  }
  return found != nullptr && found->table != nullptr ? found : nullptr;
}

bool is_true(PyObject* stolen) {
  if (stolen == nullptr) throw nb::python_error();
  const int truth = PyObject_IsTrue(stolen);
  Py_DECREF(stolen);
  return truth == 1;
}

const void* tensor_in(const torch_module& torch, nb::handle x) {
  return reinterpret_cast<const char*>(x.ptr()) + torch.impl;
}

// Asks the function, or the method of this name. Requires that x is a tensor of a class of PyTorch.
bool tells(const torch_module& torch, nb::handle x, tensor_query function, PyObject* method) {
  if (function != nullptr) return function(tensor_in(torch, x));
  PyObject* const self = x.ptr();
  return is_true(PyObject_VectorcallMethod(method, &self, 1, nullptr));
}

bool is_tensor(const torch_module& torch, nb::handle x) {
  return Py_TYPE(x.ptr()) == torch.tensor || Py_TYPE(x.ptr()) == torch.parameter;
}

bool requires_gradient(const torch_module& torch, nb::handle x) {
  if (torch.needs_gradient == nullptr) return is_true(PyObject_GetAttr(x.ptr(), torch.requires_grad));
  void* object = nullptr;
  std::memcpy(&object, tensor_in(torch, x), sizeof object);
  return torch.needs_gradient(object);
}

bool records_gradient(const torch_module& torch, nb::handle x) {
  return requires_gradient(torch, x) && is_true(PyObject_CallNoArgs(torch.is_grad_enabled));
}

// torch.device as a context, and torch.set_default_device, only affect functions that make tensors.
bool has_function_mode(const torch_module& torch) {
  const nb::object count = nb::steal(PyObject_CallNoArgs(torch.function_modes));
  if (!count.is_valid()) throw nb::python_error();
  for (Py_ssize_t k = PyLong_AsSsize_t(count.ptr()) - 1; k >= 0; --k) {
    const nb::object mode = nb::steal(PyObject_CallFunction(torch.function_mode_at, "n", k));
    if (!mode.is_valid()) throw nb::python_error();
    if (Py_TYPE(mode.ptr()) != torch.device_context) return true;
  }
  return false;
}

// Returns whether PyTorch has to see the calls of this thread: for a mode, a transform, a tracer, a tangent or the
// profiler. These intercept operators, not accesses to memory.
bool is_observed(const torch_module& torch) {
  if (unusual_keys(torch) != 0) return true;
  PyObject* const level = PyDict_GetItem(torch.forward_ad, torch.current_level);  // borrowed
  if (level == nullptr || PyLong_AsLong(level) >= 0) return true;
  if (PyDict_GetItem(torch.profiler, torch.is_profiler_enabled) != Py_False) return true;
  return has_function_mode(torch);
}

constexpr int dl_cpu = 1, dl_cuda = 2, dl_cuda_host = 3, dl_cuda_managed = 13;
constexpr auto complex_code = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Complex);

// Returns false unless x is plain memory of the host or of an NVIDIA GPU. Runs no Python code.
bool describe(const torch_module& torch, nb::handle x, nb::dlpack::dltensor& found) {
  if (torch.table->borrow(x.ptr(), &found) != 0) {
    PyErr_Clear();
    return false;
  }
  const int device = found.device.device_type;
  return device == dl_cpu || device == dl_cuda || device == dl_cuda_host || device == dl_cuda_managed;
}

bool is_empty(const nb::dlpack::dltensor& x) {
  return std::any_of(x.shape, x.shape + x.ndim, [](std::int64_t extent) { return extent == 0; });
}

// Returns false also for a lazy conjugate or negative, and for a tensor without an address: a fake tensor, a wrapper around
// another tensor, lazy zeros. Whether x is lazy is asked first, so that `found` is new.
bool borrow(const torch_module& torch, nb::handle x, nb::dlpack::dltensor& found) {
  if (tells(torch, x, torch.tells_neg, torch.is_neg) || !describe(torch, x, found) ||
      (found.data == nullptr && !is_empty(found)))
    return false;
  return found.dtype.code != complex_code ||
         (!tells(torch, x, torch.tells_conj, torch.is_conj) && describe(torch, x, found));
}

void check_elements(const nb::dlpack::dtype& type, const char* name) {
  if (!is_movable(type.bits, type.lanes, false)) refuse_element(type_of_dlpack(type.code, type.bits, type.lanes), name);
}

// storage().resize_() frees the memory of all tensors of a storage, and does not tell them.
void check_storage(const torch_module& torch, nb::handle x, const nb::dlpack::dltensor& found) {
  if (torch.bytes_of_storage == nullptr) return;
  const void* const tensor = tensor_in(torch, x);
  std::int64_t there = 0, last = 0;  // bytes; elements
  bool is_far = false;
  if (torch.bytes_of_storage(tensor, &there) != 0 || torch.offset_in_storage(tensor, &last) != 0) return;
  for (int k = 0; k < found.ndim; ++k) {
    if (found.shape[k] == 0) return;
    std::int64_t step = 0;
    is_far |= __builtin_mul_overflow(found.shape[k] - 1, found.strides[k], &step) ||
              __builtin_add_overflow(last, step, &last);
  }
  if (!is_far && last < there / (found.dtype.bits / 8)) return;
  throw error(status::invalid_argument, "a tensor needs " + std::to_string(last + 1) +
                                            " elements of its storage, which has " + std::to_string(there) +
                                            " bytes. Wanted: a storage that was not made smaller");
}

view view_of(const nb::dlpack::dltensor& x) {
  const std::int64_t bytes = x.dtype.bits / 8;
  const bool host = x.device.device_type == dl_cpu || x.device.device_type == dl_cuda_host;
  return {.data = x.data == nullptr ? nullptr : static_cast<std::byte*>(x.data) + x.byte_offset,
          .element_bytes = bytes,
          .rank = x.ndim,
          .extents = x.shape,
          .strides = x.strides,
          .stride_bytes = bytes,
          .where = host ? memory_kind::host : memory_kind::cuda};
}

// Until Python 3.12 an allocation can collect garbage, whose finalizers run Python code.
class without_collection {
 public:
  without_collection() = default;
  without_collection(const without_collection&) = delete;
  without_collection& operator=(const without_collection&) = delete;
  ~without_collection() {
    if (was_on_ != 0) PyGC_Enable();
  }

 private:
  int was_on_ = PyGC_Disable();
};

// An invalid dtype: x has it.
nb::object empty(const torch_module& torch, nb::handle x, const view& from, const axis_list& axes,
                 nb::handle dtype = {}) {
  const without_collection until_the_move;
  const nb::tuple extents = to_tuple(axes, from.extents);
  PyObject* const given[] = {x.ptr(), extents.ptr(), dtype.ptr()};
  PyObject* const names = dtype.is_valid() ? torch.names_of_new_empty : nullptr;
  PyObject* const made = PyObject_VectorcallMethod(torch.new_empty, given, 2, names);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

// DLPack has one type for uint8 and uint1 to uint7, and one for int8 and int1 to int7.
bool are_equal_types(nb::handle x, const nb::dlpack::dtype& from, nb::handle out, const nb::dlpack::dtype& to) {
  constexpr auto integer = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int);
  constexpr auto natural = static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt);
  if (!(from == to)) return false;
  if (from.bits != 8 || (from.code != integer && from.code != natural)) return true;
  return nb::object(x.attr("dtype")).is(nb::object(out.attr("dtype")));
}

void check_out(nb::handle x, const nb::dlpack::dltensor& from, nb::handle out, const nb::dlpack::dltensor& to) {
  if (!are_equal_types(x, from.dtype, out, to.dtype)) {
    throw error(status::invalid_argument, "out has dtype " + text_of(out.attr("dtype")) + ", but x has " +
                                              text_of(x.attr("dtype")) + ". Wanted: equal dtypes");
  }
  if (from.device.device_type != to.device.device_type || from.device.device_id != to.device.device_id) {
    throw error(status::invalid_argument, "out is on " + text_of(out.attr("device")) + ", but x is on " +
                                              text_of(x.attr("device")) + ". Wanted: one device");
  }
}

// The gate of permute and transpose_in_place; are_plain() is the gate of batches. Rejected tensors use the operators of cornerturn/torch.py.
bool is_plain(const torch_module& torch, nb::handle x) {
  return is_tensor(torch, x) && !records_gradient(torch, x) && !is_observed(torch);
}

}  // namespace

bool has_memory(nb::handle x, const char* name) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor found;
  if (torch == nullptr || PyType_IsSubtype(Py_TYPE(x.ptr()), torch->tensor) == 0 || !describe(*torch, x, found))
    return false;
  check_elements(found.dtype, name);
  return true;
}

nb::object storage_of(nb::handle x) {
  const torch_module* const torch = module();
  if (torch == nullptr || PyType_IsSubtype(Py_TYPE(x.ptr()), torch->tensor) == 0) return {};
  PyObject* const given[] = {x.ptr()};
  PyObject* const made = PyObject_Vectorcall(torch->detach, given, 1, nullptr);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

view look_at(nb::handle x) {
  nb::dlpack::dltensor found;
  if (!describe(*module(), x, found))
    throw error(status::invalid_argument,
                "a tensor has no plain memory any more. Wanted: a tensor that no other code changes");
  check_elements(found.dtype, "a tensor");
  check_storage(*module(), x, found);
  return view_of(found);
}

bool records_only(nb::handle x) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor at;
  return torch != nullptr && is_tensor(*torch, x) && !is_observed(*torch) && borrow(*torch, x, at);
}

bool are_plain(nb::handle tensors, bool with_memory) {
  const torch_module* const torch = module();
  if (torch == nullptr || is_observed(*torch)) return false;
  const bool records = is_true(PyObject_CallNoArgs(torch->is_grad_enabled));
  nb::dlpack::dltensor at;
  for (const nb::handle x : nb::borrow<nb::sequence>(tensors)) {
    if (!is_tensor(*torch, x) || (with_memory && !borrow(*torch, x, at))) return false;
    if (records && requires_gradient(*torch, x)) return false;
  }
  return true;
}

namespace {

void* current_stream(const torch_module& torch, const nb::dlpack::dltensor& x) {
  void* stream = nullptr;
  if (x.device.device_type == dl_cpu || x.device.device_type == dl_cuda_host) return stream;
  if (torch.table->current_stream(x.device.device_type, x.device.device_id, &stream) != 0) throw nb::python_error();
  return stream;
}

element_type type_of(const torch_module& torch, nb::handle dtype) {
  const auto found = std::find(torch.dtypes.begin() + 1, torch.dtypes.end(), dtype.ptr());
  return found == torch.dtypes.end() ? element_type::bits : static_cast<element_type>(found - torch.dtypes.begin());
}

// PyTorch's own functions do not write to an inference tensor outside of inference mode.
bool may_write(const torch_module& torch, nb::handle x) {
  const std::uint64_t keys = torch.c10 != nullptr ? read_keys(torch) : ask_keys(torch);
  return keys != 0 || !tells(torch, x, torch.tells_inference, torch.is_inference);
}

// Autograd may have saved x for backward; the version counter reveals the change.
void increment_version_of(const torch_module& torch, nb::handle x) {
  const nb::object all = nb::steal(PyTuple_Pack(1, x.ptr()));
  if (!all.is_valid()) throw nb::python_error();
  const nb::object done = nb::steal(PyObject_CallFunctionObjArgs(torch.increment_version, all.ptr(), nullptr));
  if (!done.is_valid()) throw nb::python_error();
}

}  // namespace

// No Python code runs after the first borrow: PyTorch's own functions are C, and garbage is not collected.
nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor from, to;
  if (torch == nullptr || !is_plain(*torch, x)) return {};
  if (!out.is_none() && (!is_tensor(*torch, out) || records_gradient(*torch, out) || !may_write(*torch, out)))
    return {};
  if (!borrow(*torch, x, from)) return {};
  check_elements(from.dtype, "x");
  check_storage(*torch, x, from);
  const view src = view_of(from);
  const axis_list axes = resolve(asked, src.rank);
  nb::object made;
  if (out.is_none()) {
    made = empty(*torch, x, src, axes);
    if (!describe(*torch, made, to)) throw error(status::internal, "PyTorch made a result without memory");
  } else {
    if (!borrow(*torch, out, to)) return {};
    check_out(x, from, out, to);
    check_storage(*torch, out, to);
    made = nb::borrow(out);
  }
  const view dst = view_of(to);
  check_shape(src, axes, dst);
  run(src, axes, dst, {current_stream(*torch, from), held, asked.threads});
  if (!out.is_none()) increment_version_of(*torch, out);
  return made;
}

nb::object compute(nb::handle x, const request& asked, nb::handle out, const terms& wanted) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor from, found;
  if (torch == nullptr || !is_plain(*torch, x) || !borrow(*torch, x, from) || from.device.device_type != dl_cpu)
    return {};
  const axis_list axes = resolve(asked, from.ndim);
  // 1. The gate: functions of PyTorch run, which are C.
  const auto dtype_of = [&](nb::handle tensor) { return nb::steal(PyObject_GetAttr(tensor.ptr(), torch->dtype_name)); };
  const nb::object its = dtype_of(x), dtype = wanted.dtype.is_valid() ? nb::borrow(wanted.dtype) : its;
  if (wanted.only_copies() && dtype.is(its)) return permute(x, asked, out, nullptr);
  const auto math = wanted.with_types(type_of(*torch, its), type_of(*torch, dtype));
  if (!math) return {};
  const auto accepts = [&](nb::handle other, nb::handle type) {
    return is_tensor(*torch, other) && !records_gradient(*torch, other) && borrow(*torch, other, found) &&
           found.device.device_type == dl_cpu && dtype_of(other).is(type);
  };
  const auto number = factor_of(wanted);
  if (math->scaled && !number) {
    const nb::handle type = torch->dtypes[static_cast<std::size_t>(element_type::float32)];
    if (!accepts(wanted.scale, type) || bytes_of(view_of(found)) != sizeof(float)) return {};
  }
  if (wanted.second.is_valid() && (!accepts(wanted.second, dtype) || !has_shape(view_of(from), axes, view_of(found))))
    return {};
  if (!out.is_none() && (!accepts(out, dtype) || !may_write(*torch, out))) return {};
  nb::object made = out.is_none() ? empty(*torch, x, view_of(from), axes, dtype) : nb::borrow(out);
  // 2. No Python code runs.
  arithmetic_arrays all{.x = look_at(x), .out = look_at(made)};
  float factor = number.value_or(1);
  if (wanted.second.is_valid()) all.second = look_at(wanted.second);
  if (math->scaled) all.scale = number ? view{.data = &factor, .element_bytes = sizeof factor} : look_at(wanted.scale);
  run_arithmetic(all, axes, *math, {.threads = asked.threads});
  if (!out.is_none()) increment_version_of(*torch, out);
  return made;
}

nb::object transpose_in_place(nb::handle x, int threads) {
  const torch_module* const torch = module();
  nb::dlpack::dltensor found;
  if (torch == nullptr || !is_plain(*torch, x) || !may_write(*torch, x) || !borrow(*torch, x, found)) return {};
  check_elements(found.dtype, "x");
  nb::object result = nb::borrow(x);
  const void* const address = found.data;
  if (changes_shape(view_of(found))) {
    const nb::tuple shape = transposed_shape(view_of(found));
    result = x.attr("reshape")(shape);
    if (!describe(*torch, x, found)) return {};
    if (found.data != address || !changes_shape(view_of(found)))
      throw error(status::invalid_argument,
                  "x has changed during the call. Wanted: a tensor that no other code changes");
  }
  check_storage(*torch, x, found);
  run_in_place(view_of(found), {.stream = current_stream(*torch, found), .threads = threads});
  increment_version_of(*torch, x);
  return result;
}

}  // namespace cornerturn::python::torch
