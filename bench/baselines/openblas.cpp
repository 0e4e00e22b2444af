// OpenBLAS ?omatcopy: float, double, complex double; a loop over matrices for more axes. Single-threaded.
#include <cblas.h>

#include "bench/baselines/baselines.hpp"

namespace cornerturn::bench {

namespace {

class openblas_runner final : public runner {
 public:
  openblas_runner(matrix_loop loop, std::int64_t element_bytes) : loop_(std::move(loop)), bytes_(element_bytes) {}
  void run(const std::byte* src, std::byte* dst) override {
    const auto rows = static_cast<blasint>(loop_.rows), cols = static_cast<blasint>(loop_.cols);
    const auto lda = static_cast<blasint>(loop_.src_ld), ldb = static_cast<blasint>(loop_.dst_ld);
    loop_.each([&](std::int64_t src_offset, std::int64_t dst_offset) {
      const void* from = src + src_offset * bytes_;
      void* to = dst + dst_offset * bytes_;
      if (bytes_ == 4) {
        cblas_somatcopy(CblasRowMajor, CblasTrans, rows, cols, 1.0F, static_cast<const float*>(from), lda,
                        static_cast<float*>(to), ldb);
      } else if (bytes_ == 8) {
        cblas_domatcopy(CblasRowMajor, CblasTrans, rows, cols, 1.0, static_cast<const double*>(from), lda,
                        static_cast<double*>(to), ldb);
      } else {
        const double one[2] = {1.0, 0.0};
        cblas_zomatcopy(CblasRowMajor, CblasTrans, rows, cols, one, static_cast<const double*>(from), lda,
                        static_cast<double*>(to), ldb);
      }
    });
  }

 private:
  matrix_loop loop_;
  std::int64_t bytes_;
};

std::unique_ptr<runner> prepare_openblas(const setup& how) {
  const std::int64_t bytes = how.what.element_bytes;
  matrix_loop loop;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || !matrix_loop::from(how.what, loop)) return nullptr;
  if (loop.src_ld > 2147483647 || loop.dst_ld > 2147483647) return nullptr;  // blasint
  return std::make_unique<openblas_runner>(std::move(loop), bytes);
}

}  // namespace

void add_openblas(std::vector<contender>& list) {
  list.push_back({"openblas_omatcopy", role::peer, false, prepare_openblas});
}

}  // namespace cornerturn::bench
