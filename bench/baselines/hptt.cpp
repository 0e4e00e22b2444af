// HPTT, ESTIMATE: float, double, complex double; any rank; its own OpenMP threads; extents are int. Its MEASURE mode is
// left out: it gives wrong results for ranks of 3 and more (see docs/measuring.md).
#include <hptt.h>

#include <complex>

#include "bench/baselines/baselines.hpp"

namespace cornerturn::bench {

namespace {

template <class T>
class hptt_runner final : public runner {
 public:
  explicit hptt_runner(const setup& how) {
    std::vector<int> extents;
    for (const std::int64_t extent : how.original.extents) extents.push_back(static_cast<int>(extent));
    plan_ =
        hptt::create_plan(how.original.axes.data(), static_cast<int>(extents.size()), T(1),
                          reinterpret_cast<const T*>(how.scratch.src), extents.data(), nullptr, T(0),
                          reinterpret_cast<T*>(how.scratch.dst), nullptr, hptt::ESTIMATE, how.threads, nullptr, true);
  }
  void run(const std::byte* src, std::byte* dst) override {
    plan_->setInputPtr(reinterpret_cast<const T*>(src));
    plan_->setOutputPtr(reinterpret_cast<T*>(dst));
    plan_->execute();
  }

 private:
  std::shared_ptr<hptt::Transpose<T>> plan_;
};

std::unique_ptr<runner> prepare_hptt(const setup& how) {
  for (const std::int64_t extent : how.original.extents) {
    if (extent > 2147483647) return nullptr;
  }
  switch (how.original.element_bytes) {
    case 4:
      return std::make_unique<hptt_runner<float>>(how);
    case 8:
      return std::make_unique<hptt_runner<double>>(how);
    case 16:
      return std::make_unique<hptt_runner<std::complex<double>>>(how);
    default:
      return nullptr;
  }
}

}  // namespace

void add_hptt(std::vector<contender>& list) { list.push_back({"hptt_estimate", role::peer, true, prepare_hptt}); }

}  // namespace cornerturn::bench
