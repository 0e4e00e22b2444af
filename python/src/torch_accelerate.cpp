// The kernel of aten::copy_ for cornerturn.torch.accelerate.
//
// 1. PyTorch's C interface for extensions registers it. libtorch is looked up in the process, so that the build needs none.
// 2. A copy that cornerturn does not know goes to PyTorch's own kernel, which no other library can remove.
// 3. Once registered it stays: other threads may be inside. A switch is a flag.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "torch.hpp"

namespace cornerturn::python::torch {
namespace {

struct tensor;  // at::Tensor, by its address
using value = std::uint64_t;

// The functions of libtorch. The first group is C, with a status that is 0 on success. The second group is C++ with static
// dispatch: an at::Tensor& is an address too. As an operator, is_conj would copy its argument first.
struct libtorch {
  int (*init_library)(const char* name, const char* key, const char* file, std::uint32_t line, void** made);
  int (*add_kernel)(void* library, const char* name, void (*kernel)(value*, std::uint64_t, std::uint64_t));
  int (*drop)(tensor*);
  int (*dtype)(tensor*, std::int32_t*);
  int (*device_index)(tensor*, std::int32_t*);
  int (*device_type)(tensor*, std::int32_t*);
  int (*layout)(tensor*, std::int32_t*);
  int (*rank)(tensor*, std::int64_t*);
  int (*count)(tensor*, std::int64_t*);
  int (*extents)(tensor*, std::int64_t**);
  int (*strides)(tensor*, std::int64_t**);
  int (*const_data)(tensor*, const void**);  // leaves a lazy clone lazy
  int (*data)(tensor*, void**);
  std::size_t (*element_bytes)(std::int32_t dtype);
  std::int32_t (*strided)();

  tensor* (*copy)(tensor* dst, tensor* src, bool non_blocking);
  bool (*is_conj)(tensor*);
  bool (*is_neg)(tensor*);
  bool (*is_zero)(tensor*);
  bool (*has_names)(void* impl);  // null from PyTorch 2.15 on, which has no named tensors

  std::uint64_t types;  // the numbers of the element types whose copy has no rules of its own, as a set
};

template <class Function>
void find(void* in, const char* name, Function*& found) {
  found = reinterpret_cast<Function*>(dlsym(in, name));
  if (found != nullptr) return;
  throw error(status::no_device, std::string("accelerate found a PyTorch without the function ") + name +
                                     ". Wanted: PyTorch 2.10 or newer");
}

void* opened(const char* name) {
  void* const found = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (found == nullptr)
    throw error(status::no_device,
                std::string("accelerate found no ") + name + " in this process. Wanted: a PyTorch that has it");
  return found;
}

libtorch load() {
  void* const in = opened("libtorch_cpu.so");
  libtorch made{};
  find(in, "aoti_torch_library_init_impl", made.init_library);
  find(in, "aoti_torch_library_impl", made.add_kernel);
  find(in, "aoti_torch_delete_tensor_object", made.drop);
  find(in, "aoti_torch_get_dtype", made.dtype);
  find(in, "aoti_torch_get_device_index", made.device_index);
  find(in, "aoti_torch_get_device_type", made.device_type);
  find(in, "aoti_torch_get_layout", made.layout);
  find(in, "aoti_torch_get_dim", made.rank);
  find(in, "aoti_torch_get_numel", made.count);
  find(in, "aoti_torch_get_sizes", made.extents);
  find(in, "aoti_torch_get_strides", made.strides);
  find(in, "torch_get_const_data_ptr", made.const_data);
  find(in, "torch_get_mutable_data_ptr", made.data);
  find(in, "aoti_torch_dtype_element_size", made.element_bytes);
  find(in, "aoti_torch_layout_strided", made.strided);
  find(in, "_ZN2at25compositeexplicitautograd5copy_ERNS_6TensorERKS1_b", made.copy);
  find(in, "_ZN2at25compositeimplicitautograd7is_conjERKNS_6TensorE", made.is_conj);
  find(in, "_ZN2at25compositeimplicitautograd6is_negERKNS_6TensorE", made.is_neg);
  find(in, "_ZN2at25compositeimplicitautograd14_is_zerotensorERKNS_6TensorE", made.is_zero);
  for (const char* type :
       {"uint8",           "uint16",         "uint32",    "uint64",     "int8",          "int16",
        "int32",           "int64",          "bool",      "float16",    "bfloat16",      "float32",
        "float64",         "complex32",      "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
        "float8_e4m3fnuz", "float8_e5m2fnuz"}) {
    std::int32_t (*number)() = nullptr;
    find(in, (std::string("aoti_torch_dtype_") + type).c_str(), number);
    made.types |= std::uint64_t{1} << number();
  }
  made.has_names = reinterpret_cast<bool (*)(void*)>(dlsym(in, "_ZN2at4impl9has_namesEPKN3c1010TensorImplE"));
  return made;
}

const libtorch& library() {
  static const libtorch found = load();
  return found;
}

struct owned {
  tensor* is;
  explicit owned(value from) : is(reinterpret_cast<tensor*>(from)) {}  // NOLINT(performance-no-int-to-ptr)
  owned(const owned&) = delete;
  owned& operator=(const owned&) = delete;
  ~owned() {
    if (is != nullptr) library().drop(is);
  }
};

constexpr int cpu = 0, cuda = 1;
std::atomic<bool> is_on[2];
bool is_registered[2];  // under the interpreter's lock
std::atomic<std::uint64_t> taken{0};
int (*cuda_stream)(std::int32_t device, void** found) = nullptr;

// Returns false unless x is plain memory of one element type.
bool look_at(tensor* x, int on, view& found, std::int32_t& dtype) {
  const libtorch& torch = library();
  std::int32_t layout = 0;
  std::int64_t rank = 0, *extents = nullptr, *strides = nullptr;
  if (torch.layout(x, &layout) != 0 || layout != torch.strided() || torch.dtype(x, &dtype) != 0) return false;
  if (dtype < 0 || dtype >= 64 || (torch.types >> dtype & 1U) == 0) return false;
  if (torch.rank(x, &rank) != 0 || torch.extents(x, &extents) != 0 || torch.strides(x, &strides) != 0) return false;
  if (torch.is_conj(x) || torch.is_neg(x) || torch.is_zero(x)) return false;
  void* impl = nullptr;
  std::memcpy(&impl, x, sizeof impl);  // an at::Tensor is one pointer
  if (torch.has_names != nullptr && torch.has_names(impl)) return false;
  found.element_bytes = static_cast<std::int64_t>(torch.element_bytes(dtype));
  found.rank = static_cast<int>(rank);
  found.extents = extents;
  found.strides = strides;
  found.stride_bytes = found.element_bytes;
  found.where = on == cpu ? memory_kind::host : memory_kind::cuda;
  return true;
}

bool copy_with_cornerturn(tensor* dst, tensor* src, int on) {
  constexpr std::int64_t fewest_elements = 1 << 12;  // copy_permuted wants 64 KiB
  const libtorch& torch = library();
  std::int64_t count = 0, rank = 0;
  std::int32_t type = 0, other_type = 0, index = 0, other_index = 0;
  if (torch.count(src, &count) != 0 || count < fewest_elements) return false;
  if (torch.rank(src, &rank) != 0 || rank < 2) return false;
  torch.device_type(src, &type);
  torch.device_type(dst, &other_type);
  torch.device_index(src, &index);
  torch.device_index(dst, &other_index);
  if (type != other_type || index != other_index) return false;
  view from, to;
  if (!look_at(src, on, from, type) || !look_at(dst, on, to, other_type) || type != other_type) return false;
  execution how{.has_lock = false};
  if (on == cuda && cuda_stream(index, &how.stream) != 0) return false;
  const void* data = nullptr;  // dst first: it may share the memory of src until somebody writes to it
  if (torch.data(dst, &to.data) != 0 || torch.const_data(src, &data) != 0) return false;
  from.data = const_cast<void*>(data);
  return from.data != nullptr && to.data != nullptr && copy_permuted(to, from, how);
}

template <int On>
void copy(value* stack, std::uint64_t, std::uint64_t) {
  owned dst(stack[0]);
  const owned src(stack[1]);
  if (is_on[On].load(std::memory_order_relaxed) && copy_with_cornerturn(dst.is, src.is, On)) {
    taken.fetch_add(1, std::memory_order_relaxed);
  } else {
    library().copy(dst.is, src.is, (stack[2] & 1U) != 0);
  }
  stack[0] = reinterpret_cast<value>(std::exchange(dst.is, nullptr));
}

void turn(int which, bool on) {
  if (on && !is_registered[which]) {
    void* made = nullptr;  // lives as long as the process
    const libtorch& torch = library();
    if (torch.init_library("aten", which == cpu ? "CPU" : "CUDA", __FILE__, __LINE__, &made) != 0 ||
        torch.add_kernel(made, "copy_", which == cpu ? copy<cpu> : copy<cuda>) != 0)
      throw error(status::no_device, "PyTorch refused another kernel of aten::copy_");
    is_registered[which] = true;
  }
  is_on[which] = on;
}

}  // namespace

void switch_copies(bool on_cpu, bool on_cuda) {
  if (on_cuda && cuda_stream == nullptr)
    find(opened("libtorch_cuda.so"), "aoti_torch_get_current_cuda_stream", cuda_stream);
  turn(cpu, on_cpu);
  turn(cuda, on_cuda);
}

std::uint64_t copies() { return taken; }

}  // namespace cornerturn::python::torch
