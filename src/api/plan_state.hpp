// The state behind a cornerturn::plan.
#pragma once

#include <array>
#include <atomic>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/device.hpp"
#include "api/gpu_plan.hpp"
#include "api/in_place.hpp"
#include "api/tuned.hpp"
#include "cornerturn/plan.hpp"
#include "map/canonical.hpp"
#include "plan/choose.hpp"
#include "run/self_measurement.hpp"

namespace cornerturn::detail {

enum class findings { use, ignore };  // the results of tune()

class plan_state {
 public:
  plan_state(const problem& what, const plan_options& options, findings tune_results = findings::use);
  // A plan for another CPU, to be explained only. `on` must live as long as the plan.
  plan_state(const problem& what, const plan_options& options, findings tune_results, const base::machine& on);
  ~plan_state();
  plan_state(const plan_state&) = delete;
  plan_state& operator=(const plan_state&) = delete;

  void execute(const void* src, void* dst, void* stream = nullptr, std::span<std::byte> workspace = {}) const;
  void execute(const operands& all, void* stream = nullptr) const;
  // Effect  executes a copy without arithmetic on one CPU thread, if the pointers are valid and no GPU driver is loaded
  // Returns false, without any copy, in all other cases
  [[nodiscard]] bool try_fast_path(const void* src, void* dst, const void* stream = nullptr) const;
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] const char* kernel() const noexcept;
  [[nodiscard]] int threads() const noexcept {
    return on_gpu_only() ? 0 : in_place_ ? in_place_->threads : chosen().threads;
  }
  [[nodiscard]] std::int64_t workspace_bytes(device where) const;
  [[nodiscard]] const kernels::offer& chosen() const noexcept {  // for the CPU
    const kernels::offer* const measured = measured_ == nullptr ? nullptr : measured_->settled();
    return measured == nullptr ? chosen_ : *measured;
  }
  [[nodiscard]] std::int64_t bytes_moved() const noexcept;

  // For the plan cache: the problem, and the bytes of this object with all that it owns.
  [[nodiscard]] const problem& what() const noexcept { return what_; }
  [[nodiscard]] std::int64_t bytes() const noexcept;

  // For tune(). device_of_call returns api::on_cpu or the number of a GPU, and throws the errors of execute.
  [[nodiscard]] bool empty() const noexcept { return form_.empty; }
  [[nodiscard]] bool in_place() const noexcept { return what_.in_place; }
  [[nodiscard]] bool computes() const noexcept { return computes_; }
  [[nodiscard]] int device_of_call(const void* src, const void* dst) const;
  [[nodiscard]] const running::gpu_variant& variant_for(int device, const void* src,
                                                        const void* dst) const;  // in the stored plan
  [[nodiscard]] api::tuned_key key_on_cpu(int threads) const;
  [[nodiscard]] api::tuned_key key_on_gpu(int device, int alignment) const;
  [[nodiscard]] int alignment_of(const void* src, const void* dst) const noexcept;

 private:
  [[nodiscard]] bool on_gpu_only() const noexcept { return api::is_gpu(on_); }
  void check_overlap(const void* src, const void* dst) const;
  // Errors  invalid_argument: the caller's workspace is null or too small. overlap: it shares a byte with the array
  void check_workspace_of(std::span<std::byte> workspace, std::int64_t wanted, const void* data) const;
  void check_operands(const operands& all) const;
  [[nodiscard]] int device_of_call(const operands& all) const;

  // On the CPU: plan.cpp, and in_place.cpp for execute_in_place.
  void choose_for_cpu(int threads, bool measure);
  void prepare_fast_path() noexcept;
  void execute_on_cpu(const kernels::arrays& all) const;
  void execute_on_cpu(const kernels::offer& chosen, const kernels::arrays& all) const;
  void execute_in_place(void* data, std::span<std::byte> workspace) const;

  // On a GPU: gpu_plan.cpp, and explain.cpp for explain_gpu_plans.
  const running::gpu_plan* gpu_plan_for(int device) const;
  [[nodiscard]] running::gpu_plan make_gpu_plan(int device) const;
  const running::gpu_variant& variant_of_call(int device, int alignment, running::gpu_variant& made) const;
  void execute_on_gpu(int device, const void* src, void* dst, void* stream, std::span<std::byte> workspace) const;
  void compute_on_gpu(int device, const operands& all, void* stream) const;
  void explain_gpu_plans(std::ostream& out) const;

  problem what_;
  device on_;           // also a GPU if options.kernel names a GPU row
  std::string kernel_;  // options.kernel, or empty
  findings findings_;
  const base::machine& cpu_;
  bool tuned_ = false;     // tune() found chosen_
  bool computes_ = false;  // math changes elements, or there is a second destination
  kernels::op math_;
  map::canonical form_;
  map::canonical gpu_form_;                              // that running::work has
  kernels::offer chosen_;                                // for the CPU, by prediction; no kernel if on_gpu_only()
  std::unique_ptr<running::self_measurement> measured_;  // replaces chosen_; null: it stays
  std::optional<planning::in_place_choice> in_place_;    // replaces chosen_ for a problem in place
  mutable std::array<std::atomic<const running::gpu_plan*>, gpu::most_devices>
      gpu_plans_{};  // one per device, made by any thread
  int device_ = 0;   // the current device at the plan's creation, if on_gpu_only()
  executor parallel_;
  map::byte_span src_span_;  // relative to the caller's pointers
  map::byte_span dst_span_;
  std::int64_t src_start_ = 0;  // bytes from the caller's pointer to index 0
  std::int64_t dst_start_ = 0;
  std::int64_t second_start_ = 0;
  // The data of try_fast_path, adjacent in memory: a small matrix takes 5 ns, and the checks of execute 15 ns.
  struct {
    kernels::run_function run = nullptr;  // null: this plan needs execute
    const std::byte* args = nullptr;      // of the offer
    std::int64_t units = 0;
    std::int64_t src_at = 0, dst_at = 0;  // bytes from the caller's pointers
    // The spans of src and dst overlap if dst - src - lowest < overlap_bytes, in unsigned arithmetic. In place only src == dst
    // passes this comparison.
    std::uint64_t lowest = 0;
    std::uint64_t overlap_bytes = 0;
  } fast_path_;
};

// Errors  invalid_argument: the workspace has fewer bytes than wanted, or is null
void check_workspace(std::span<std::byte> workspace, std::int64_t wanted);
// Errors  invalid_argument, always: the row that options.kernel names does not accept the problem
[[noreturn]] void refuse_kernel(const std::string& kernel);

}  // namespace cornerturn::detail
