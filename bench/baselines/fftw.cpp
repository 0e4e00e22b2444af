// FFTW guru plans of rank 0, which are copies: float, double, and complex double for 16 bytes; ESTIMATE and MEASURE. Single-
// threaded here: FFTW's own threads only split loops, so the bench slices the case. FFTW is GPL: a build with
// CORNERTURN_PEERS is for measuring, not for distribution.
#include <fftw3.h>

#include <mutex>

#include "bench/baselines/baselines.hpp"

namespace cornerturn::bench {

namespace {

constexpr double plan_seconds = 1.0;  // the limit of one MEASURE search, which runs the case several times

template <class Dim>
std::vector<Dim> dims_of(const view& what) {
  std::vector<Dim> dims;
  for (const view_axis& axis : folded(what).axes) {
    Dim dim;
    dim.n = axis.extent;
    dim.is = axis.src_stride;
    dim.os = axis.dst_stride;
    dims.push_back(dim);
  }
  return dims;
}

class float_runner final : public runner {
 public:
  float_runner(const setup& how, unsigned flags) {
    const auto dims = dims_of<fftwf_iodim64>(how.what);
    fftwf_set_timelimit(plan_seconds);
    plan_ = fftwf_plan_guru64_r2r(0, nullptr, static_cast<int>(dims.size()), dims.data(),
                                  reinterpret_cast<float*>(how.scratch.src), reinterpret_cast<float*>(how.scratch.dst),
                                  nullptr, flags);
  }
  ~float_runner() override { fftwf_destroy_plan(plan_); }
  [[nodiscard]] bool ready() const { return plan_ != nullptr; }
  void run(const std::byte* src, std::byte* dst) override {
    fftwf_execute_r2r(plan_, const_cast<float*>(reinterpret_cast<const float*>(src)), reinterpret_cast<float*>(dst));
  }

 private:
  fftwf_plan plan_ = nullptr;
};

class double_runner final : public runner {
 public:
  double_runner(const setup& how, unsigned flags) : complex_(how.what.element_bytes == 16) {
    const auto dims = dims_of<fftw_iodim64>(how.what);
    const int rank = static_cast<int>(dims.size());
    fftw_set_timelimit(plan_seconds);
    if (complex_) {
      plan_ = fftw_plan_guru64_dft(0, nullptr, rank, dims.data(), reinterpret_cast<fftw_complex*>(how.scratch.src),
                                   reinterpret_cast<fftw_complex*>(how.scratch.dst), FFTW_FORWARD, flags);
    } else {
      plan_ = fftw_plan_guru64_r2r(0, nullptr, rank, dims.data(), reinterpret_cast<double*>(how.scratch.src),
                                   reinterpret_cast<double*>(how.scratch.dst), nullptr, flags);
    }
  }
  ~double_runner() override { fftw_destroy_plan(plan_); }
  [[nodiscard]] bool ready() const { return plan_ != nullptr; }
  void run(const std::byte* src, std::byte* dst) override {
    auto* from = const_cast<double*>(reinterpret_cast<const double*>(src));
    auto* to = reinterpret_cast<double*>(dst);
    if (complex_) {
      fftw_execute_dft(plan_, reinterpret_cast<fftw_complex*>(from), reinterpret_cast<fftw_complex*>(to));
    } else {
      fftw_execute_r2r(plan_, from, to);
    }
  }

 private:
  bool complex_;
  fftw_plan plan_ = nullptr;
};

template <unsigned Flags>
std::unique_ptr<runner> prepare_fftw(const setup& how) {
  const unsigned flags = Flags | FFTW_UNALIGNED;  // slices may start at unaligned addresses
  if (how.what.element_bytes == 4) {
    auto made = std::make_unique<float_runner>(how, flags);
    if (made->ready()) return made;
  } else if (how.what.element_bytes == 8 || how.what.element_bytes == 16) {
    auto made = std::make_unique<double_runner>(how, flags);
    if (made->ready()) return made;
  }
  return nullptr;
}

}  // namespace

void add_fftw(std::vector<contender>& list) {
  list.push_back({"fftw_estimate", role::peer, false, prepare_fftw<FFTW_ESTIMATE>});
  list.push_back({"fftw_measure", role::peer, false, prepare_fftw<FFTW_MEASURE>});
}

}  // namespace cornerturn::bench
