#include "memory.hpp"

#include "entry.hpp"
#include "numpy.hpp"
#include "torch.hpp"

namespace cornerturn::python {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

[[noreturn]] void refuse_type(const std::string& name, const std::string& field, nb::handle found, const char* wanted) {
  throw nb::type_error((field + " of " + name + " is a " + kind_of(found) + ". Wanted: " + wanted).c_str());
}

memory_kind kind_of_device(int device_type, const std::string& name) {
  if (device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value) return memory_kind::host;
  if (device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value)
    return memory_kind::cuda;
  refuse(name + " is on a device of DLPack type " + std::to_string(device_type) +
         ". Wanted: the host's memory (1, 3) or a CUDA device's (2, 13)");
}

nb::object index_of(nb::handle number, const std::string& name, const std::string& field) {
  if (PyIndex_Check(number.ptr()) == 0) refuse_type(name, field, number, "an integer");
  nb::object made = nb::steal(PyNumber_Index(number.ptr()));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

// Returns nothing for a number beyond 63 bits.
std::optional<std::int64_t> number_of(nb::handle number, const std::string& name, const std::string& field) {
  int beyond = 0;
  const long long found = PyLong_AsLongLongAndOverflow(index_of(number, name, field).ptr(), &beyond);
  if (beyond != 0) return std::nullopt;
  return found;
}

std::vector<std::optional<std::int64_t>> numbers_of(nb::handle sequence, const std::string& name, const char* field) {
  if (PyTuple_Check(sequence.ptr()) == 0 && PyList_Check(sequence.ptr()) == 0)
    refuse_type(name, field, sequence, "a tuple of integers");
  const nb::object all = nb::steal(PySequence_Tuple(sequence.ptr()));
  if (!all.is_valid()) throw nb::python_error();
  const Py_ssize_t count = PyTuple_Size(all.ptr());
  if (count > most_axes) refuse(name + " has " + std::to_string(count) + " axes, wanted 64 or fewer");
  std::vector<std::optional<std::int64_t>> made;
  for (Py_ssize_t k = 0; k < count; ++k)
    made.push_back(number_of(PyTuple_GetItem(all.ptr(), k), name, std::string(field) + "[" + std::to_string(k) + "]"));
  return made;
}

std::vector<std::int64_t> extents_of(nb::handle sequence, const std::string& name) {
  std::vector<std::int64_t> made;
  for (const auto& extent : numbers_of(sequence, name, "shape")) {
    if (!extent) throw error(status::overflow, name + " has an extent of 2^63 or more");
    if (*extent < 0) refuse(name + " has extent " + std::to_string(*extent) + ", wanted 0 or more");
    made.push_back(*extent);
  }
  return made;
}

// An axis of extent 1 or less has no stride: any number is allowed there.
std::vector<std::int64_t> strides_of(nb::handle sequence, const std::vector<std::int64_t>& extents,
                                     const std::string& name) {
  const auto found = numbers_of(sequence, name, "strides");
  if (found.size() != extents.size()) {
    refuse(name + " has " + std::to_string(found.size()) + " strides and " + std::to_string(extents.size()) +
           " axes. Wanted: one stride for each axis");
  }
  std::vector<std::int64_t> made;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!found[k] && extents[k] > 1) throw error(status::overflow, name + " has a stride of 2^63 bytes or more");
    made.push_back(found[k].value_or(0));
  }
  return made;
}

void* address_of(nb::handle number, const std::string& name) {
  const unsigned long long found = PyLong_AsUnsignedLongLong(index_of(number, name, "the address").ptr());
  if (found == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse("the address of " + name + " is " + text_of(number) + ", wanted a number from 0 to 2^64 - 1");
  }
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(found));  // NOLINT(performance-no-int-to-ptr)
}

// Returns null if there is none, or None.
nb::object field_of(nb::handle fields, const char* name) {
  PyObject* const found = PyDict_GetItemString(fields.ptr(), name);
  return found == nullptr || found == Py_None ? nb::object() : nb::borrow(found);
}

bool is_true(nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

}  // namespace

door::door(nb::handle array, const char* name, access wanted) : array_(nb::borrow(array)) {
  if (numpy::is_array(array)) {
    how_ = kind::numpy;
    numpy::check_array(array, name);
    if (wanted == access::write) numpy::check_target(array, name);
  } else if (torch::has_memory(array, name)) {
    how_ = kind::torch;
  } else {
    describe(array, name);
    if (wanted == access::write && fixed_.is_read_only) refuse(std::string(name) + " is read-only");
  }
}

void door::describe(nb::handle memory, const char* name) {
  if (PyCapsule_CheckExact(memory.ptr())) return take_capsule(memory, name);
  if (PyTuple_CheckExact(memory.ptr())) return take_tuple(memory, name);
  if (PyDict_Check(memory.ptr())) return take_interface(memory, name);
  const nb::object found = until_exit([&] { return nb::object(frameworks("describe")(memory)); });
  if (PyCapsule_CheckExact(found.ptr())) return take_capsule(found, name);
  if (PyTuple_CheckExact(found.ptr())) return take_tuple(found, name);
  if (PyDict_Check(found.ptr())) return take_interface(found, name);
  static_cast<void>(take_tensor(found, name));  // refuses it
}

void door::take_capsule(nb::handle capsule, const char* name) {
  tensor_.emplace(take_tensor(capsule, name));
  const nb::dlpack::dltensor& tensor = *tensor_->is;
  const std::int64_t bytes = bytes_of(tensor_->type, name);
  type_ = tensor_->type.text;
  fixed_ = {.data = tensor.data == nullptr ? nullptr : static_cast<std::byte*>(tensor.data) + tensor.byte_offset,
            .element_bytes = bytes,
            .rank = tensor.ndim,
            .extents = tensor.shape,
            .strides = tensor.strides,
            .stride_bytes = bytes,
            .where = kind_of_device(tensor.device.device_type, name),
            .is_read_only = tensor_->is_read_only};
}

void door::take_interface(nb::handle fields, const char* name) {
  const auto needed = [&](const char* field) {
    nb::object found = field_of(fields, field);
    if (!found.is_valid()) refuse("__cuda_array_interface__ of " + std::string(name) + " has no " + field);
    return found;
  };
  if (field_of(fields, "mask").is_valid()) {
    throw nb::type_error(
        (std::string(name) + " is an array with a mask, which would be lost. Wanted: an array without a mask").c_str());
  }
  const nb::object typestr = needed("typestr"), data = needed("data"), strides = field_of(fields, "strides");
  if (PyUnicode_Check(typestr.ptr()) == 0) refuse_type(name, "typestr", typestr, "a str");
  if (PyTuple_CheckExact(data.ptr()) == 0 || PyTuple_Size(data.ptr()) != 2)
    refuse_type(name, "data", data, "a tuple of an address and a bool");
  element_facts type = type_of_interface(utf8_of(typestr, "typestr"), name);
  if (const nb::object descr = field_of(fields, "descr"); descr.is_valid() && type.text.starts_with("V")) {
    const std::string record = text_of(nb::repr(descr));  // the fields of a record
    type.refers = record.find("|O") != std::string::npos || record.find("'O") != std::string::npos;
    type.text += " " + record;
  }
  extents_ = extents_of(needed("shape"), name);
  if (strides.is_valid()) strides_ = strides_of(strides, extents_, name);
  fixed_ = {.data = address_of(PyTuple_GetItem(data.ptr(), 0), name),
            .element_bytes = bytes_of(type, name),
            .rank = static_cast<int>(extents_.size()),
            .extents = extents_.data(),
            .strides = strides.is_valid() ? strides_.data() : nullptr,
            .where = memory_kind::cuda,
            .is_read_only = is_true(PyTuple_GetItem(data.ptr(), 1))};
  type_ = type.text;
}

void door::take_tuple(nb::handle tuple, const char* name) {
  if (PyTuple_Size(tuple.ptr()) != 5) refuse_type(name, "the description", tuple, "five items");
  const auto item = [&](Py_ssize_t k) { return nb::handle(PyTuple_GetItem(tuple.ptr(), k)); };
  extents_ = extents_of(item(1), name);
  strides_ = strides_of(item(2), extents_, name);
  const std::int64_t bytes = number_of(item(3), name, "the element size").value_or(-1);
  if (bytes < 0 || bytes > 1 << 30)
    refuse(std::string(name) + " has elements of an invalid size. Wanted: 0 to 2^30 bytes");
  fixed_ = {.data = address_of(item(0), name),
            .element_bytes = bytes,
            .rank = static_cast<int>(extents_.size()),
            .extents = extents_.data(),
            .strides = strides_.data(),
            .where = is_true(item(4)) ? memory_kind::cuda : memory_kind::host};
}

view door::look() const {
  if (how_ == kind::numpy) return numpy::look_at(array_);
  if (how_ == kind::torch) return torch::look_at(array_);
  return fixed_;
}

void check_equal_types(const door& x, const door& out) {
  if (x.type().empty() || out.type().empty() || x.type() == out.type()) return;
  const std::int64_t of_x = x.look().element_bytes, of_out = out.look().element_bytes;
  std::string sizes;
  if (of_x != of_out) {
    sizes = "; the elements of out and x have " + std::to_string(of_out) + " and " + std::to_string(of_x) + " bytes";
  }
  refuse("out and x have different element types, " + out.type() + " and " + x.type() + sizes +
         ". Wanted: equal types");
}

nb::object frameworks(const char* name) { return nb::module_::import_("cornerturn._frameworks").attr(name); }

}  // namespace cornerturn::python
