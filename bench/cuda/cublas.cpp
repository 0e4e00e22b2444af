// cuBLAS ?geam: C = alpha op(A) + beta op(B), column-major. Our row-major rows x cols source is a column-major cols x
// rows matrix, so C is rows x cols with op(A) = A^T. The library is loaded at run time, so the binary also runs without it.
#include <dlfcn.h>

#include <cstdlib>

#include "bench/baselines/baselines.hpp"
#include "bench/cuda/call.hpp"
#include "bench/cuda/contender.hpp"

namespace cornerturn::bench::cuda {

namespace {

constexpr int not_transposed = 0, transposed = 1;  // cublasOperation_t
constexpr std::int64_t most_matrices = 128;        // with more calls, the time would be launch overhead

struct library {
  using handle = void*;
  int (*create)(handle*) = nullptr;
  int (*set_stream)(handle, cudaStream_t) = nullptr;
  int (*geam[3])(handle, int, int, int, int, const void*, const void*, int, const void*, const void*, int, void*,
                 int) = {};  // 4, 8, 16 bytes
  handle made = nullptr;

  library() {
    void* file = open();
    if (file == nullptr) return;
    find(file, "cublasCreate_v2", create);
    find(file, "cublasSetStream_v2", set_stream);
    find(file, "cublasSgeam", geam[0]);
    find(file, "cublasDgeam", geam[1]);
    find(file, "cublasZgeam", geam[2]);
    if (create == nullptr || set_stream == nullptr || geam[0] == nullptr || geam[1] == nullptr || geam[2] == nullptr ||
        create(&made) != 0) {
      made = nullptr;
    }
  }

  template <class Function>
  static void find(void* file, const char* name, Function& into) {
    into = reinterpret_cast<Function>(dlsym(file, name));
  }

  static void* open() {
    const char* const places[] = {secure_getenv("CORNERTURN_CUBLAS"),
                                  "libcublas.so.13",
                                  "libcublas.so.12",
                                  "/usr/local/cuda/lib64/libcublas.so.13",
                                  "/usr/local/cuda/lib64/libcublas.so.12",
                                  "/usr/local/cuda/lib64/libcublas.so"};
    for (const char* place : places) {
      if (place == nullptr) continue;
      if (void* file = dlopen(place, RTLD_NOW | RTLD_LOCAL)) return file;
    }
    return nullptr;
  }
};

const library& cublas() {
  static const library loaded;  // never unloaded: otherwise its destructors would run after the driver's destructors
  return loaded;
}

class geam_runner final : public device_runner {
 public:
  geam_runner(matrix_loop loop, std::int64_t element_bytes) : loop_(std::move(loop)), bytes_(element_bytes) {}
  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override {
    // Room for 16 bytes: 1 and 0 as float, double or a complex double.
    const double one_wide[2] = {1, 0}, zero_wide[2] = {0, 0};
    const float one_narrow = 1, zero_narrow = 0;
    const void* one = bytes_ == 4 ? static_cast<const void*>(&one_narrow) : one_wide;
    const void* zero = bytes_ == 4 ? static_cast<const void*>(&zero_narrow) : zero_wide;
    const library& with = cublas();
    int status = with.set_stream(with.made, on);
    const auto rows = static_cast<int>(loop_.rows), cols = static_cast<int>(loop_.cols);
    const auto src_ld = static_cast<int>(loop_.src_ld), dst_ld = static_cast<int>(loop_.dst_ld);
    auto* const geam = with.geam[bytes_ == 4 ? 0 : bytes_ == 8 ? 1 : 2];
    loop_.each([&](std::int64_t src_offset, std::int64_t dst_offset) {
      const void* from = src + src_offset * bytes_;
      void* to = dst + dst_offset * bytes_;
      if (status == 0) {
        status =
            geam(with.made, transposed, not_transposed, rows, cols, one, from, src_ld, zero, to, dst_ld, to, dst_ld);
      }
    });
    if (status != 0) throw std::runtime_error("cuBLAS geam: status " + std::to_string(status));
  }

 private:
  matrix_loop loop_;
  std::int64_t bytes_;
};

}  // namespace

bool cublas_is_found() { return cublas().made != nullptr; }

std::unique_ptr<device_runner> cublas_geam(const bench_case& what) {
  matrix_loop loop;
  if (what.element_bytes != 4 && what.element_bytes != 8 && what.element_bytes != 16) return nullptr;
  if (!matrix_loop::from(full_view(what), loop) || cublas().made == nullptr) return nullptr;
  std::int64_t matrices = 1;
  for (const view_axis& axis : loop.batch) matrices *= axis.extent;
  constexpr std::int64_t int_max = 2147483647;
  if (matrices > most_matrices || loop.rows > int_max || loop.cols > int_max || loop.src_ld > int_max ||
      loop.dst_ld > int_max) {
    return nullptr;
  }
  return std::make_unique<geam_runner>(std::move(loop), what.element_bytes);
}

}  // namespace cornerturn::bench::cuda
