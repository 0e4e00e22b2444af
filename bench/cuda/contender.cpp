#include "bench/cuda/contender.hpp"

#include <functional>
#include <stdexcept>

#include "bench/cuda/call.hpp"
#include "bench/cuda/copies.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::bench::cuda {

namespace {

// Device memory for the workspace of a rectangle in place. It is allocated before the timed runs.
class device_bytes {
 public:
  explicit device_bytes(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    if (bytes > 0) must(cudaMalloc(&at_, bytes_), "cudaMalloc of the workspace");
  }
  ~device_bytes() { cudaFree(at_); }
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
  [[nodiscard]] std::span<std::byte> all() const { return {static_cast<std::byte*>(at_), bytes_}; }

 private:
  std::size_t bytes_;
  void* at_ = nullptr;
};

class our_runner final : public device_runner {
 public:
  our_runner(const bench_case& what, const std::string& kernel)
      : plan_(make(what, kernel)),
        in_place_(what.in_place()),
        name_(kernel.empty() ? kernel_for(plan_, base_alignment(what)) : kernel),
        workspace_(plan_.workspace_bytes()) {}
  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override {
    if (in_place_) return plan_.execute(dst, dst, workspace_.all(), on);
    plan_.execute(src, dst, on);
  }
  [[nodiscard]] std::string detail() const override { return name_; }

 private:
  static plan make(const bench_case& what, const std::string& kernel) {
    plan_options options;
    options.device = device::cuda;
    if (!kernel.empty()) options.kernel = kernel.c_str();
    return plan(problem_of(what), options);
  }
  plan plan_;
  bool in_place_;
  std::string name_;
  device_bytes workspace_;
};

class copy_runner final : public device_runner {
 public:
  copy_runner(const device_copy& kind, std::int64_t bytes) : kind_(kind), bytes_(bytes) {}
  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override { kind_.enqueue(src, dst, bytes_, on); }

 private:
  const device_copy& kind_;
  std::int64_t bytes_;
};

// A kernel that supports the problem may still refuse misaligned pointers. In this case enqueue() throws.
void enter_rows(const bench_case& what, const std::string& chosen, std::vector<entrant>& list) {
  for (const std::string& name : row_names("cuda")) {
    if (name == chosen) continue;
    try {
      list.push_back({name, role::row, std::make_unique<our_runner>(what, name), ""});
    } catch (const error& failure) {
      if (!is_refusal(failure)) throw;
    }
  }
}

void enter_peers(const bench_case& what, std::vector<entrant>& list) {
  const auto enter = [&](const char* name, const std::function<std::unique_ptr<device_runner>()>& prepare) {
    try {
      if (auto ready = prepare()) list.push_back({name, role::peer, std::move(ready), ""});
    } catch (const std::runtime_error& failure) {
      list.push_back({name, role::peer, nullptr, failure.what()});
    }
  };
  enter("cublas_geam", [&] { return cublas_geam(what); });
  enter("cutensor", [&] { return cutensor_permute(what, cutensor_kernels::shipped); });
  enter("cutensor_jit", [&] { return cutensor_permute(what, cutensor_kernels::compiled); });
  if (!what.hot) return;
  enter("textbook_tile", [&] { return textbook_tile(what); });
  enter("element_a_thread", [&] { return element_a_thread(what); });
}

}  // namespace

std::vector<entrant> enter_all(const bench_case& what, const entry_options& options) {
  std::vector<entrant> list;
  list.push_back({"cornerturn", role::ours, nullptr, ""});
  try {
    list.back().ready = std::make_unique<our_runner>(what, options.kernel);
  } catch (const std::exception& failure) {
    list.back().refusal = failure.what();
  }
  for (const device_copy& kind : device_copies()) {
    list.push_back({kind.name, role::roof, std::make_unique<copy_runner>(kind, what.bytes()), ""});
  }
  if (options.with_peers && !what.in_place()) enter_peers(what, list);  // peers do not run cases in place
  if (options.with_rows) enter_rows(what, list.front().ready == nullptr ? "" : list.front().ready->detail(), list);
  return list;
}

}  // namespace cornerturn::bench::cuda
