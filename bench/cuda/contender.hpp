// The contenders that run on a stream: the library, the copies of the roof, and the peers that this process can load.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/contender.hpp"

namespace cornerturn::bench::cuda {

// A contender that is prepared for one case.
class device_runner {
 public:
  device_runner() = default;
  device_runner(const device_runner&) = delete;
  device_runner& operator=(const device_runner&) = delete;
  virtual ~device_runner() = default;
  virtual void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) = 0;
  [[nodiscard]] virtual std::string detail() const { return ""; }
};

struct entrant {
  std::string name;
  role part = role::peer;
  std::unique_ptr<device_runner> ready;  // null: `refusal` says why
  std::string refusal;
};

struct entry_options {
  bool with_peers = false;
  std::string kernel;
  bool with_rows = false;  // add every kernel that plan() accepts for this case, except the chosen one
};

// Effect  returns the library, then the copies, then the peers that support this case, then the forced kernels
[[nodiscard]] std::vector<entrant> enter_all(const bench_case& what, const entry_options& options);

// Effect  returns cuBLAS geam, for elements of 4, 8 and 16 bytes: one matrix, or some matrices in a loop. Null when it does
//         not support the case, or when cuBLAS is not found. The environment variable CORNERTURN_CUBLAS names its file
[[nodiscard]] std::unique_ptr<device_runner> cublas_geam(const bench_case& what);
[[nodiscard]] bool cublas_is_found();

// Effect  return kernels of ten lines, the peers of cases that stay in L2. Null: 32-bit indices, the size of the element or the number
//         of axes do not fit
[[nodiscard]] std::unique_ptr<device_runner> textbook_tile(const bench_case& what);
[[nodiscard]] std::unique_ptr<device_runner> element_a_thread(const bench_case& what);

// The kernels that a plan of cuTENSOR may choose from. The values come from cutensorJitMode_t.
enum class cutensor_kernels : int { shipped = 0, compiled = 1 };

// Effect  returns cuTENSOR's permutation, for elements of 2, 4, 8 and 16 bytes. Its plan is made here, outside the timed runs.
//         `compiled` lets cuTENSOR compile a kernel for this case. Null when cuTENSOR does not support the case or cannot be
//         used. The environment variable CORNERTURN_CUTENSOR names its file
// Errors  std::runtime_error: cuTENSOR fails to plan. With `compiled` this is null too
[[nodiscard]] std::unique_ptr<device_runner> cutensor_permute(const bench_case& what, cutensor_kernels which);

// Effect  returns the reason why cuTENSOR cannot be used, or cannot compile kernels; "" if it can
[[nodiscard]] std::string cutensor_absence(cutensor_kernels which);
[[nodiscard]] std::string cutensor_version();  // "2.8.0"; "" if it is not found

}  // namespace cornerturn::bench::cuda
