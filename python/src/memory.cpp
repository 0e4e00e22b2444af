#include "memory.hpp"

#include <string>

#include "numpy.hpp"
#include "torch.hpp"

namespace cornerturn::python {
namespace {

memory_kind kind_of_device(int device_type) {
  if (device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value) return memory_kind::host;
  if (device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value)
    return memory_kind::cuda;
  throw error(status::invalid_argument, "x is on a device of DLPack type " + std::to_string(device_type) +
                                            ". Wanted: the host's memory (1, 3) or a CUDA device's (2, 13)");
}

}  // namespace

described::described(nb::handle memory, bool writable) {
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

nb::object frameworks(const char* name) { return nb::module_::import_("cornerturn._frameworks").attr(name); }

view look_at(nb::handle x, std::optional<described>& kept, const char* name) {
  if (numpy::is_array(x)) return numpy::look_at(x, name);
  if (const auto seen = torch::look_at(x)) return *seen;
  kept.emplace(frameworks("describe")(x));
  return kept->is;
}

}  // namespace cornerturn::python
