// What a cornerturn::plan points to.
#pragma once

#include <array>
#include <atomic>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "api/gpu_half.hpp"
#include "api/in_place.hpp"
#include "api/tuned.hpp"
#include "cornerturn/plan.hpp"
#include "map/canonical.hpp"
#include "plan/choose.hpp"

namespace cornerturn::detail {

enum class findings { heed, ignore };  // those of tune()

class plan_state {
 public:
  plan_state(const problem& what, const plan_options& options, findings of_tune = findings::heed);
  ~plan_state();
  plan_state(const plan_state&) = delete;
  plan_state& operator=(const plan_state&) = delete;

  void execute(const void* src, void* dst, void* stream = nullptr, std::span<std::byte> workspace = {}) const;
  void execute(const operands& all, void* stream = nullptr) const;
  // Effect  moves as execute does where nothing is to be decided or refused: elements only move, on one thread of the
  //         CPU, and the pointers are sound and no GPU's. Else false, and nothing has moved
  [[nodiscard]] bool execute_at_once(const void* src, void* dst) const;
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] const char* kernel() const noexcept;
  [[nodiscard]] int threads() const noexcept {
    return on_gpu_only() ? 0 : in_place_ ? in_place_->threads : chosen_.threads;
  }
  [[nodiscard]] std::int64_t workspace_bytes() const noexcept;
  [[nodiscard]] const planning::choice& chosen() const noexcept { return chosen_; }
  [[nodiscard]] std::int64_t bytes_moved() const noexcept;

  // For tune(). Where execute would run: api::on_cpu, or the number of a GPU; with its errors.
  [[nodiscard]] bool empty() const noexcept { return form_.empty; }
  [[nodiscard]] bool in_place() const noexcept { return what_.in_place; }
  [[nodiscard]] bool computes() const noexcept { return computes_; }
  [[nodiscard]] int place_of(const void* src, const void* dst) const;
  [[nodiscard]] const gpu_way& way_on(int device, const void* src, const void* dst) const;  // one that is remembered
  [[nodiscard]] api::tuned_key key_on_cpu(int threads) const;
  [[nodiscard]] api::tuned_key key_on_gpu(int device, int alignment) const;
  [[nodiscard]] int alignment_of(const void* src, const void* dst) const noexcept;

 private:
  static constexpr int most_devices = 16;  // that a plan remembers its choice for

  [[nodiscard]] bool on_gpu_only() const noexcept { return on_ == device::cuda; }
  void choose_for_cpu(int threads);
  void prepare_at_once() noexcept;
  void check_overlap(const void* src, const void* dst) const;
  void check_operands(const operands& all) const;
  void execute_on_cpu(const kernels::arrays& all) const;
  void execute_in_place(void* data, std::span<std::byte> workspace) const;
  void execute_on_gpu(int device, const void* src, void* dst, void* stream, std::span<std::byte> workspace) const;
  const char* turn_on_gpu(int device, const planning::gpu_rectangle& all, std::byte* data,
                          std::span<std::byte> workspace, void* stream) const;
  void compute_on_gpu(int device, const operands& all, void* stream) const;
  [[nodiscard]] int place_of(const operands& all) const;
  void explain_gpu_halves(std::ostream& out) const;
  [[nodiscard]] gpu_half half_for(int device) const;
  const gpu_half* remember(int device) const;

  problem what_;
  device on_;           // cuda also where a GPU row is asked for by name
  std::string kernel_;  // asked for by name; or empty
  findings of_tune_;
  bool tuned_ = false;     // chosen_ is what tune() found
  bool computes_ = false;  // math changes elements, or there is a second destination
  kernels::op math_;
  map::canonical form_;
  planning::choice chosen_;                            // for the CPU; without a kernel where on_ is cuda
  std::optional<planning::in_place_choice> in_place_;  // in place of chosen_, for the CPU
  mutable std::array<std::atomic<const gpu_half*>, most_devices> halves_{};  // made once for each device, by any thread
  int device_ = 0;  // current when the plan was made, where on_ is cuda
  executor parallel_;
  map::byte_span src_span_;  // relative to the caller's pointers
  map::byte_span dst_span_;
  std::int64_t src_start_ = 0;  // bytes from the caller's pointer to index 0
  std::int64_t dst_start_ = 0;
  std::int64_t second_start_ = 0;
  // Of execute_at_once, side by side: a small matrix takes 5 ns, the decisions of execute 15.
  struct {
    kernels::kernel_function run = nullptr;  // null: this plan wants execute
    std::int64_t units = 0;
    // The spans of src and dst meet where dst - src - lowest is less than this many bytes.
    std::uint64_t lowest = 0;
    std::uint64_t meet_bytes = 0;
  } at_once_;
};

}  // namespace cornerturn::detail
