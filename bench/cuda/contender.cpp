#include "bench/cuda/contender.hpp"

#include "bench/cuda/copies.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::bench::cuda {

namespace {

class our_runner final : public device_runner {
 public:
  our_runner(const bench_case& what, const std::string& kernel) : plan_(make(what, kernel)) {}
  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override { plan_.execute(src, dst, on); }
  [[nodiscard]] std::string detail() const override { return plan_.kernel(); }

 private:
  static plan make(const bench_case& what, const std::string& kernel) {
    plan_options options;
    options.on = device::cuda;
    if (!kernel.empty()) options.kernel = kernel.c_str();
    return plan(problem_of(what), options);
  }
  plan plan_;
};

class copy_runner final : public device_runner {
 public:
  copy_runner(const device_copy& kind, std::int64_t bytes) : kind_(kind), bytes_(bytes) {}
  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override { kind_.enqueue(src, dst, bytes_, on); }

 private:
  const device_copy& kind_;
  std::int64_t bytes_;
};

}  // namespace

std::vector<entrant> enter_all(const bench_case& what, bool with_peers, const std::string& kernel) {
  std::vector<entrant> list;
  list.push_back({"cornerturn", role::ours, nullptr, ""});
  try {
    list.back().ready = std::make_unique<our_runner>(what, kernel);
  } catch (const std::exception& failure) {
    list.back().refusal = failure.what();
  }
  for (const device_copy& kind : device_copies()) {
    list.push_back({kind.name, role::roof, std::make_unique<copy_runner>(kind, what.bytes()), ""});
  }
  if (with_peers) {
    if (auto geam = cublas_geam(what)) list.push_back({"cublas_geam", role::peer, std::move(geam), ""});
  }
  return list;
}

}  // namespace cornerturn::bench::cuda
