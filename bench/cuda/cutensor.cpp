// cuTENSOR's cutensorPermute with alpha = 1. The random data are finite and normal in every format, so the multiplication
// keeps all bits. The library is loaded at run time, so the binary also runs without it.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "bench/cuda/call.hpp"
#include "bench/cuda/contender.hpp"
#include "bench/cuda/cutensor_api.hpp"

namespace cornerturn::bench::cuda {

namespace {

std::size_t index_of(cutensor_kernels which) { return static_cast<std::size_t>(which); }

// Each value of cutensor_kernels has its own handle: a handle has a cache of plans, and a plan of one must not serve the other.
struct loaded_cutensor {
  cutensor_api api = open_cutensor(secure_getenv("CORNERTURN_CUTENSOR"));
  void* handles[2] = {};
  std::string absences[2];

  loaded_cutensor() {
    start(cutensor_kernels::shipped, api.absence);
    const std::string& shipped = absences[index_of(cutensor_kernels::shipped)];
    start(cutensor_kernels::compiled, shipped.empty() ? absence_of_compiler() : shipped);
  }

 private:
  [[nodiscard]] std::string absence_of_compiler() const {
    const char* const wish = secure_getenv("CORNERTURN_CUTENSOR_JIT");
    if (wish != nullptr && std::strcmp(wish, "off") == 0) return "CORNERTURN_CUTENSOR_JIT is off";
    return absence_of_nvrtc(api);
  }

  void start(cutensor_kernels which, const std::string& obstacle) {
    std::string& absence = absences[index_of(which)];
    absence = obstacle;
    if (!obstacle.empty()) return;
    const int status = api.create(&handles[index_of(which)]);
    if (status != cutensor_api::success) absence = api.sentence("cutensorCreate", status);
  }
};

const loaded_cutensor& cutensor() {
  static const loaded_cutensor
      loaded;  // never unloaded: otherwise its destructors would run after the driver's destructors
  return loaded;
}

class unsupported : public std::runtime_error {  // cuTENSOR has no kernel for a problem
 public:
  using std::runtime_error::runtime_error;
};

using owned = std::unique_ptr<void, int (*)(void*)>;  // an object of cuTENSOR and the function that destroys it

class permute_runner final : public device_runner {
 public:
  permute_runner(const cutensor_api& api, void* handle, cutensor_kernels which, const tensor_permutation& what)
      : api_(api),
        handle_(handle),
        src_alignment_(what.src.alignment),
        dst_alignment_(what.dst.alignment),
        src_(describe(what.src, what.type)),
        dst_(describe(what.dst, what.type)),
        operation_(operation_of(what)),
        one_(one()),
        plan_(plan_of(which)) {}

  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override {
    if (reinterpret_cast<std::uintptr_t>(src) % src_alignment_ != 0 ||
        reinterpret_cast<std::uintptr_t>(dst) % dst_alignment_ != 0) {
      throw std::runtime_error("cutensorPermute: an address is less aligned than the plan expects");
    }
    check("cutensorPermute", api_.permute(handle_, plan_.get(), one_.data(), src, dst, on));
  }

 private:
  void check(const char* call, int status) const {
    if (status == cutensor_api::not_supported) throw unsupported(api_.sentence(call, status));
    if (status != cutensor_api::success) throw std::runtime_error(api_.sentence(call, status));
  }

  [[nodiscard]] owned describe(const tensor_axes& array, tensor_type type) const {
    void* made = nullptr;
    check("cutensorCreateTensorDescriptor",
          api_.create_tensor_descriptor(handle_, &made, static_cast<std::uint32_t>(array.extents.size()),
                                        array.extents.data(), array.strides.data(), static_cast<int>(type),
                                        array.alignment));
    return {made, api_.destroy_tensor_descriptor};
  }

  [[nodiscard]] owned operation_of(const tensor_permutation& what) const {
    const bool is_double = what.type == tensor_type::float64 || what.type == tensor_type::complex128;
    void* made = nullptr;
    check(
        "cutensorCreatePermutation",
        api_.create_permutation(handle_, &made, src_.get(), what.src.names.data(), cutensor_api::identity, dst_.get(),
                                what.dst.names.data(), is_double ? api_.float64_arithmetic : api_.float32_arithmetic));
    return {made, api_.destroy_operation_descriptor};
  }

  [[nodiscard]] tensor_scalar one() const {
    int type = -1;
    check("cutensorOperationDescriptorGetAttribute",
          api_.get_operation_attribute(handle_, operation_.get(), cutensor_api::scalar_type, &type, sizeof type));
    const std::optional<tensor_scalar> found = one_in(type);
    if (!found) throw std::runtime_error("cutensorPermute: alpha has the unknown type " + std::to_string(type));
    return *found;
  }

  // A permutation takes no workspace, so the limit of the plan is 0 bytes.
  [[nodiscard]] owned plan_of(cutensor_kernels which) const {
    void *wish = nullptr, *made = nullptr;
    check("cutensorCreatePlanPreference",
          api_.create_plan_preference(handle_, &wish, cutensor_api::default_algorithm, static_cast<int>(which)));
    const owned preference(wish, api_.destroy_plan_preference);
    check("cutensorCreatePlan", api_.create_plan(handle_, &made, operation_.get(), preference.get(), 0));
    return {made, api_.destroy_plan};
  }

  const cutensor_api& api_;
  void* handle_;
  std::uint32_t src_alignment_, dst_alignment_;
  owned src_, dst_, operation_;
  tensor_scalar one_;
  owned plan_;
};

}  // namespace

std::string cutensor_absence(cutensor_kernels which) { return cutensor().absences[index_of(which)]; }

std::string cutensor_version() { return cutensor().api.absence.empty() ? cutensor().api.version() : ""; }

std::unique_ptr<device_runner> cutensor_permute(const bench_case& what, cutensor_kernels which) {
  const loaded_cutensor& with = cutensor();
  if (!with.absences[index_of(which)].empty() || what.in_place()) return nullptr;
  const std::optional<tensor_permutation> problem = tensor_permutation_of(full_view(what), what.shift);
  if (!problem) return nullptr;
  try {
    return std::make_unique<permute_runner>(with.api, with.handles[index_of(which)], which, *problem);
  } catch (const unsupported&) {
    return nullptr;
  } catch (const std::runtime_error&) {
    if (which == cutensor_kernels::compiled) return nullptr;  // not every problem can be compiled
    throw;
  }
}

}  // namespace cornerturn::bench::cuda
