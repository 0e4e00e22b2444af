#include "tensor_map.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace cornerturn::ladder {
namespace {

using encoder = decltype(&cuTensorMapEncodeTiled);

encoder find_encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult said{};
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &said);
#else
  const cudaError_t status = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &said);
#endif
  const bool there = status == cudaSuccess && said == cudaDriverEntryPointSuccess;
  return there ? reinterpret_cast<encoder>(found) : nullptr;
}

}  // namespace

const char* encode_tensor(void* map, const void* matrix, std::int64_t rows, std::int64_t cols, int word_bytes,
                          int box_rows) {
  static const encoder encode = find_encoder();
  if (encode == nullptr) return "the driver has no cuTensorMapEncodeTiled";
  const CUtensorMapDataType type = word_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : word_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                   : word_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                     : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  const cuuint64_t extent[] = {static_cast<cuuint64_t>(cols), static_cast<cuuint64_t>(rows)};
  const cuuint64_t pitch[] = {static_cast<cuuint64_t>(cols * word_bytes)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / word_bytes), static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t every[] = {1, 1};
  const CUresult status = encode(static_cast<CUtensorMap*>(map), type, 2, const_cast<void*>(matrix), extent, pitch, box,
                                 every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return status == CUDA_SUCCESS ? nullptr : "the driver refuses a tensor map for this matrix";
}

}  // namespace cornerturn::ladder
