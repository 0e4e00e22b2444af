#include "dlpack.hpp"

#include <string>

#include "axes.hpp"
#include "cornerturn/error.hpp"
#include "text.hpp"

namespace cornerturn::python {
namespace {

struct managed {  // DLManagedTensor
  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(managed*);
};

struct versioned {  // DLManagedTensorVersioned
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(versioned*);
  std::uint64_t flags;
  nb::dlpack::dltensor tensor;
};

constexpr std::uint64_t read_only_flag = 1;

template <class Managed>
void release(void* owner) {
  auto* const one = static_cast<Managed*>(owner);
  if (one->deleter != nullptr) one->deleter(one);
}

[[noreturn]] void refuse(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

template <class Managed>
dlpack_tensor take(nb::handle capsule, const char* name, const char* used, bool is_read_only) {
  auto* const one = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  const nb::dlpack::dltensor& tensor = one->tensor;
  return {.owner = {one, release<Managed>},
          .is = &tensor,
          .is_read_only = is_read_only,
          .type = type_of_dlpack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)};
}

void check(const dlpack_tensor& taken, const std::string& name) {
  const nb::dlpack::dltensor& tensor = *taken.is;
  if (tensor.ndim < 0 || tensor.ndim > most_axes)
    refuse(name + " has " + std::to_string(tensor.ndim) + " axes, wanted 64 or fewer");
  if (tensor.ndim > 0 && tensor.shape == nullptr)
    refuse("the DLPack capsule of " + name + " has no shape. Wanted: one extent for each axis");
  for (int k = 0; k < tensor.ndim; ++k) {
    if (tensor.shape[k] < 0) refuse(name + " has extent " + std::to_string(tensor.shape[k]) + ", wanted 0 or more");
  }
  static_cast<void>(bytes_of(taken.type, name));
}

dlpack_tensor take_any(nb::handle capsule, const std::string& name) {
  constexpr const char *old_name = "dltensor", *new_name = "dltensor_versioned";
  if (PyCapsule_IsValid(capsule.ptr(), old_name) != 0) return take<managed>(capsule, old_name, "used_dltensor", false);
  if (PyCapsule_IsValid(capsule.ptr(), new_name) != 0) {
    const auto* const one = static_cast<const versioned*>(PyCapsule_GetPointer(capsule.ptr(), new_name));
    if (one->major != 1)
      refuse("the DLPack capsule of " + name + " has version " + std::to_string(one->major) + ", wanted 1");
    return take<versioned>(capsule, new_name, "used_dltensor_versioned", (one->flags & read_only_flag) != 0);
  }
  std::string found = "a " + kind_of(capsule);
  if (PyCapsule_CheckExact(capsule.ptr())) {
    const char* const of_capsule = PyCapsule_GetName(capsule.ptr());
    if (of_capsule == nullptr) PyErr_Clear();
    found = of_capsule == nullptr ? "a capsule without a name" : "the capsule '" + escaped(of_capsule) + "'";
    if (std::string_view(of_capsule == nullptr ? "" : of_capsule).starts_with("used_dltensor"))
      throw nb::type_error(
          ("__dlpack__ of " + name + " returned a capsule that was used before. Wanted: a new one").c_str());
  }
  throw nb::type_error(("__dlpack__ of " + name + " returned " + found + ". Wanted: a capsule of a tensor").c_str());
}

}  // namespace

dlpack_tensor take_tensor(nb::handle capsule, const char* name) {
  dlpack_tensor taken = take_any(capsule, name);
  check(taken, name);
  return taken;
}

}  // namespace cornerturn::python
