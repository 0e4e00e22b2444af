#include "bench/cuda/cutensor_api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cornerturn::bench::cuda {

namespace {

constexpr std::int64_t best_alignment = 256;  // of cudaMalloc

std::optional<tensor_type> tensor_type_of(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 2:
      return tensor_type::float16;
    case 4:
      return tensor_type::float32;
    case 8:
      return tensor_type::float64;
    case 16:
      return tensor_type::complex128;
    default:
      return {};
  }
}

struct named_axis {
  std::int32_t name;
  std::int64_t extent, stride;
};

tensor_axes tensor_axes_of(std::vector<named_axis> axes, std::int64_t shift) {
  std::stable_sort(axes.begin(), axes.end(),
                   [](const named_axis& a, const named_axis& b) { return a.stride < b.stride; });
  tensor_axes made;
  for (const named_axis& axis : axes) {
    made.names.push_back(axis.name);
    made.extents.push_back(axis.extent);
    made.strides.push_back(axis.stride);
  }
  const std::int64_t address = shift | best_alignment;
  made.alignment = static_cast<std::uint32_t>(address & -address);
  return made;
}

// Finds functions in a file. It remembers the first one that is missing.
class symbols {
 public:
  explicit symbols(void* file) : file_(file) {}
  template <class Function>
  void find(const char* name, Function*& into) {
    into = reinterpret_cast<Function*>(at(name));
  }
  // A compute descriptor is a variable that holds a pointer.
  void find_descriptor(const char* name, const void*& into) {
    if (void* const variable = at(name)) into = *static_cast<const void* const*>(variable);
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* at(const char* name) {
    void* const found = dlsym(file_, name);
    if (found == nullptr && missing_.empty()) missing_ = name;
    return found;
  }
  void* file_;
  std::string missing_;
};

std::string folder_of(const char* file) {
  const std::string path = file == nullptr ? "" : file;
  const std::size_t end = path.rfind('/');
  return end == std::string::npos ? "" : path.substr(0, end + 1);
}

// Loads a library of the CUDA toolkit and returns true. A library that is loaded by its path serves the later search for its
// name, because the loader compares the names that the files themselves carry.
bool load_from_toolkit(const std::string& name) {
  const std::string folders[] = {"", folder_of(secure_getenv("CORNERTURN_CUBLAS")), "/usr/local/cuda/lib64/",
                                 "/usr/local/cuda/lib/"};
  return std::any_of(std::begin(folders), std::end(folders), [&](const std::string& folder) {
    return dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  });
}

// dlopen loads the file and the libraries that it needs. The first failure may be libcublasLt, which is not always where the
// loader looks for it.
void* load_cutensor(const char* path, std::string& reason) {
  const auto attempt = [&] {
    void* const file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
      const char* const failure = dlerror();
      reason = failure == nullptr ? "dlopen failed" : failure;
    }
    return file;
  };
  void* file = attempt();
  for (const char* const needed : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    if (file != nullptr) break;
    if (reason.find(needed) != std::string::npos && load_from_toolkit(needed)) file = attempt();
  }
  return file;
}

}  // namespace

std::optional<tensor_permutation> tensor_permutation_of(const view& what, const padding& shift) {
  const std::optional<tensor_type> type = tensor_type_of(what.element_bytes);
  if (!type || shift.src % what.element_bytes != 0 || shift.dst % what.element_bytes != 0) return {};
  const view flat = folded(what);
  if (flat.axes.empty()) return {};
  std::vector<named_axis> src, dst;
  for (const view_axis& axis : flat.axes) {
    if (axis.extent < 1 || axis.src_stride < 1 || axis.dst_stride < 1) return {};
    const auto name = static_cast<std::int32_t>(src.size());
    src.push_back({name, axis.extent, axis.src_stride});
    dst.push_back({name, axis.extent, axis.dst_stride});
  }
  return tensor_permutation{*type, tensor_axes_of(std::move(src), shift.src),
                            tensor_axes_of(std::move(dst), shift.dst)};
}

std::optional<tensor_scalar> one_in(int type) {
  tensor_scalar made{};
  const auto put = [&](const auto& value) { std::memcpy(made.data(), &value, sizeof value); };
  switch (static_cast<tensor_type>(type)) {
    case tensor_type::float16:
      put(std::uint16_t{0x3c00});
      return made;
    case tensor_type::float32:
    case tensor_type::complex64:  // the imaginary part stays 0
      put(1.0F);
      return made;
    case tensor_type::float64:
    case tensor_type::complex128:
      put(1.0);
      return made;
  }
  return {};
}

std::string cutensor_api::version() const {
  const std::size_t number = get_version();
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

std::string cutensor_api::sentence(const char* call, int status) const {
  const char* const word = get_error_string(status);
  return std::string(call) + ": status " + std::to_string(status) + (word == nullptr ? "" : std::string(", ") + word);
}

cutensor_api open_cutensor(const char* named) {
  cutensor_api api;
  std::string reason;
  const char* const path = named != nullptr ? named : "libcutensor.so.2";
  void* const file = load_cutensor(path, reason);
  if (file == nullptr) {
    api.absence = reason + (named != nullptr ? " (CORNERTURN_CUTENSOR names this file)"
                                             : "; CORNERTURN_CUTENSOR may name the file of libcutensor.so.2");
    return api;
  }
  symbols in(file);
  in.find("cutensorCreate", api.create);
  in.find("cutensorCreateTensorDescriptor", api.create_tensor_descriptor);
  in.find("cutensorDestroyTensorDescriptor", api.destroy_tensor_descriptor);
  in.find("cutensorCreatePermutation", api.create_permutation);
  in.find("cutensorOperationDescriptorGetAttribute", api.get_operation_attribute);
  in.find("cutensorDestroyOperationDescriptor", api.destroy_operation_descriptor);
  in.find("cutensorCreatePlanPreference", api.create_plan_preference);
  in.find("cutensorDestroyPlanPreference", api.destroy_plan_preference);
  in.find("cutensorCreatePlan", api.create_plan);
  in.find("cutensorDestroyPlan", api.destroy_plan);
  in.find("cutensorPermute", api.permute);
  in.find("cutensorGetErrorString", api.get_error_string);
  in.find("cutensorGetVersion", api.get_version);
  in.find("cutensorGetCudartVersion", api.get_cudart_version);
  in.find_descriptor("CUTENSOR_COMPUTE_DESC_32F", api.float32_arithmetic);
  in.find_descriptor("CUTENSOR_COMPUTE_DESC_64F", api.float64_arithmetic);
  if (!in.missing().empty()) {
    api.absence = std::string(path) + " has no symbol " + in.missing() + ": cuTENSOR 2.x is needed";
  }
  return api;
}

std::string absence_of_nvrtc(const cutensor_api& of) {
  const std::string name = "libnvrtc.so." + std::to_string(of.get_cudart_version() / 1000);
  return load_from_toolkit(name) ? "" : name + " is not found";
}

}  // namespace cornerturn::bench::cuda
