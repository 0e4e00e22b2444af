// Eigen: a matrix assignment (sliced over threads), and Tensor::shuffle on its own thread pool, ranks 2 to 6.
#define EIGEN_USE_THREADS
#include <complex>
#include <unsupported/Eigen/CXX11/Tensor>

#include "bench/baselines/baselines.hpp"

namespace cornerturn::bench {

namespace {

template <class T>
class matrix_runner final : public runner {
 public:
  explicit matrix_runner(matrix_loop loop) : loop_(std::move(loop)) {}
  void run(const std::byte* src, std::byte* dst) override {
    using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    loop_.each([&](std::int64_t src_offset, std::int64_t dst_offset) {
      const Eigen::Map<const matrix, 0, Eigen::OuterStride<>> from(
          reinterpret_cast<const T*>(src) + src_offset, loop_.rows, loop_.cols, Eigen::OuterStride<>(loop_.src_ld));
      Eigen::Map<matrix, 0, Eigen::OuterStride<>> to(reinterpret_cast<T*>(dst) + dst_offset, loop_.cols, loop_.rows,
                                                     Eigen::OuterStride<>(loop_.dst_ld));
      to.noalias() = from.transpose();
    });
  }

 private:
  matrix_loop loop_;
};

std::unique_ptr<runner> prepare_matrix(const setup& how) {
  matrix_loop loop;
  if (!matrix_loop::from(how.what, loop)) return nullptr;
  switch (how.what.element_bytes) {
    case 1:
      return std::make_unique<matrix_runner<std::uint8_t>>(std::move(loop));
    case 2:
      return std::make_unique<matrix_runner<std::uint16_t>>(std::move(loop));
    case 4:
      return std::make_unique<matrix_runner<float>>(std::move(loop));
    case 8:
      return std::make_unique<matrix_runner<double>>(std::move(loop));
    case 16:
      return std::make_unique<matrix_runner<std::complex<double>>>(std::move(loop));
    default:
      return nullptr;
  }
}

// The packed case. Extents are in the order of src, and axes that stay adjacent are joined.
template <class T, int Rank>
class shuffle_runner final : public runner {
 public:
  shuffle_runner(const std::vector<std::int64_t>& extents, const std::vector<int>& axes, int threads)
      : pool_(threads), device_(&pool_, threads) {
    for (std::size_t i = 0; i < Rank; ++i) {
      extents_[i] = extents[i];
      shuffled_[i] = extents[static_cast<std::size_t>(axes[i])];
      axes_[i] = axes[i];
    }
  }
  void run(const std::byte* src, std::byte* dst) override {
    const Eigen::TensorMap<Eigen::Tensor<const T, Rank, Eigen::RowMajor, Eigen::Index>> from(
        reinterpret_cast<const T*>(src), extents_);
    Eigen::TensorMap<Eigen::Tensor<T, Rank, Eigen::RowMajor, Eigen::Index>> to(reinterpret_cast<T*>(dst), shuffled_);
    to.device(device_) = from.shuffle(axes_);
  }

 private:
  Eigen::ThreadPool pool_;
  Eigen::ThreadPoolDevice device_;
  Eigen::array<Eigen::Index, Rank> extents_;
  Eigen::array<Eigen::Index, Rank> shuffled_;
  Eigen::array<int, Rank> axes_;
};

template <class T>
std::unique_ptr<runner> make_shuffle(const std::vector<std::int64_t>& extents, const std::vector<int>& axes,
                                     int threads) {
  switch (extents.size()) {
    case 2:
      return std::make_unique<shuffle_runner<T, 2>>(extents, axes, threads);
    case 3:
      return std::make_unique<shuffle_runner<T, 3>>(extents, axes, threads);
    case 4:
      return std::make_unique<shuffle_runner<T, 4>>(extents, axes, threads);
    case 5:
      return std::make_unique<shuffle_runner<T, 5>>(extents, axes, threads);
    case 6:
      return std::make_unique<shuffle_runner<T, 6>>(extents, axes, threads);
    default:
      return nullptr;
  }
}

std::unique_ptr<runner> prepare_shuffle(const setup& how) {
  if (!how.original.is_packed()) return nullptr;
  switch (how.original.element_bytes) {
    case 1:
      return make_shuffle<std::uint8_t>(how.original.extents, how.original.axes, how.threads);
    case 2:
      return make_shuffle<std::uint16_t>(how.original.extents, how.original.axes, how.threads);
    case 4:
      return make_shuffle<float>(how.original.extents, how.original.axes, how.threads);
    case 8:
      return make_shuffle<double>(how.original.extents, how.original.axes, how.threads);
    default:
      return nullptr;
  }
}

}  // namespace

void add_eigen(std::vector<contender>& list) {
  list.push_back({"eigen_matrix", role::peer, false, prepare_matrix});
  list.push_back({"eigen_shuffle", role::peer, true, prepare_shuffle});
}

}  // namespace cornerturn::bench
