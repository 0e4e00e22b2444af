// cuTENSOR 2.x without its header: the search for its file, the functions that the peer calls, and a case in its terms. This
// part needs no GPU and no CUDA header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/case.hpp"

struct CUstream_st;

namespace cornerturn::bench::cuda {

// cudaDataType_t of library_types.h
enum class tensor_type : int { float32 = 0, float64 = 1, float16 = 2, complex64 = 4, complex128 = 5 };

// One array: its axes, innermost first. An axis has one number as its name in src and in dst.
struct tensor_axes {
  std::vector<std::int32_t> names;
  std::vector<std::int64_t> extents, strides;  // strides in elements
  std::uint32_t alignment = 0;                 // bytes: the largest power of two, up to 256, that divides the address
};

struct tensor_permutation {
  tensor_type type = tensor_type::float32;
  tensor_axes src, dst;
};

// Effect  returns the axes of `what` after folding. `shift` has the bytes from a multiple of 256 to the first element
//         of src and of dst. Returns nothing if cuTENSOR cannot describe the view: elements of other sizes than 2, 4, 8 and
//         16 bytes, an extent or a stride below 1, a single element, or an address that is no multiple of an element
[[nodiscard]] std::optional<tensor_permutation> tensor_permutation_of(const view& what, const padding& shift);

using tensor_scalar = std::array<unsigned char, 16>;

// Effect  returns the bytes of 1 in a type of cudaDataType_t; nothing for a type that no permutation here uses
[[nodiscard]] std::optional<tensor_scalar> one_in(int type);

// The functions of cutensor.h that the peer calls, by their names without `cutensor`. Handles, descriptors, preferences and
// plans are pointers to opaque structs. Each function but two returns cutensorStatus_t; 0 is success.
struct cutensor_api {
  int (*create)(void** handle) = nullptr;
  int (*create_tensor_descriptor)(void* handle, void** made, std::uint32_t axes, const std::int64_t* extents,
                                  const std::int64_t* strides, int type, std::uint32_t alignment) = nullptr;
  int (*destroy_tensor_descriptor)(void* made) = nullptr;
  int (*create_permutation)(void* handle, void** made, void* src, const std::int32_t* src_names, int src_operator,
                            void* dst, const std::int32_t* dst_names, const void* arithmetic) = nullptr;
  int (*get_operation_attribute)(void* handle, void* operation, int attribute, void* into, std::size_t bytes) = nullptr;
  int (*destroy_operation_descriptor)(void* made) = nullptr;
  int (*create_plan_preference)(void* handle, void** made, int algorithm, int jit_mode) = nullptr;
  int (*destroy_plan_preference)(void* made) = nullptr;
  int (*create_plan)(void* handle, void** made, void* operation, void* preference,
                     std::uint64_t workspace_limit) = nullptr;
  int (*destroy_plan)(void* made) = nullptr;
  int (*permute)(void* handle, void* plan, const void* alpha, const void* src, void* dst, CUstream_st* on) = nullptr;
  const char* (*get_error_string)(int status) = nullptr;
  std::size_t (*get_version)() = nullptr;
  std::size_t (*get_cudart_version)() = nullptr;

  const void* float32_arithmetic = nullptr;  // CUTENSOR_COMPUTE_DESC_32F
  const void* float64_arithmetic = nullptr;  // CUTENSOR_COMPUTE_DESC_64F

  std::string absence;  // the reason why the library cannot be used; "" when all members above are set

  static constexpr int success = 0, not_supported = 15;  // cutensorStatus_t
  static constexpr int identity = 1;                     // CUTENSOR_OP_IDENTITY
  static constexpr int scalar_type = 1;                  // CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE
  static constexpr int default_algorithm = -1;           // CUTENSOR_ALGO_DEFAULT

  [[nodiscard]] std::string version() const;  // "2.8.0"
  [[nodiscard]] std::string sentence(const char* call, int status) const;
};

// Effect  loads the file `named`, or libcutensor.so.2 where the loader finds it if `named` is null. It also looks for
//         libcublasLt, which libcutensor.so.2 needs, in the usual folders. The file is never unloaded
[[nodiscard]] cutensor_api open_cutensor(const char* named);

// Effect  loads NVRTC of the CUDA version that cuTENSOR was built for: cuTENSOR compiles kernels with it. Returns the reason
//         why it is not found, or ""
[[nodiscard]] std::string absence_of_nvrtc(const cutensor_api& of);

}  // namespace cornerturn::bench::cuda
