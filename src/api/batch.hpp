// The state behind a cornerturn::batch.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cornerturn/batch.hpp"
#include "kernels/gpu/device.hpp"
#include "map/canonical.hpp"
#include "plan/batch_cpu.hpp"
#include "plan/batch_gpu.hpp"
#include "run/launch.hpp"

namespace cornerturn::detail {

// The input of a batch: its different problems, and its items with the numbers of their problems.
class batch_list {
 public:
  void add(const problem& what, const void* src, void* dst);
  // Errors  out_of_memory
  void reserve(std::size_t items);
  [[nodiscard]] const std::vector<problem>& problems() const noexcept { return problems_; }
  [[nodiscard]] const std::vector<std::size_t>& first() const noexcept { return first_; }
  [[nodiscard]] const std::vector<planning::batch_move>& items() const noexcept { return items_; }

 private:
  [[nodiscard]] std::uint32_t number_of(const problem& what);

  std::vector<problem> problems_;
  std::vector<std::size_t> first_;  // the first item that has each problem
  std::vector<planning::batch_move> items_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> numbers_;  // by a hash of the problem
};

class batch_state {
 public:
  batch_state(const batch_list& all, const plan_options& options);

  void execute(void* stream) const;
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t bytes_moved() const noexcept { return bytes_; }
  [[nodiscard]] int launches() const noexcept {
    return static_cast<int>(shared_launches_.launches.size() + own_launches_.size());
  }
  [[nodiscard]] int threads() const noexcept { return on_gpu() ? 0 : cpu_shares_.threads; }

 private:
  // Data of a problem that all its items share.
  struct planned_problem {
    map::canonical form;
    map::byte_span src_span, dst_span;  // relative to the caller's pointers
    std::int64_t src_start = 0;         // bytes from the caller's pointer to index 0
    std::int64_t dst_start = 0;
  };
  struct released {
    void operator()(void* memory) const noexcept { gpu::release(memory); }
  };
  // A separate launch for one item, with the kernel that a plan would use.
  struct own_launch {
    std::uint32_t variant = 0;
    planning::batch_move item;
  };

  // A shape of which explain() prints the offers.
  struct told_shape {
    problem what;
    planning::gpu_batch_shape shape;
  };

  [[nodiscard]] bool on_gpu() const noexcept { return device_ >= 0; }
  void remember_largest(const batch_list& all);
  void explain_on_cpu(std::ostream& out) const;
  void explain_on_gpu(std::ostream& out) const;
  void add_problems(const batch_list& all);
  void add_items(const batch_list& all, device on);
  void prepare_gpu(const batch_list& all);
  void run(std::int64_t first_share, std::int64_t last_share) const;

  std::int64_t size_ = 0;
  std::int64_t bytes_ = 0;
  int device_;  // api::on_cpu, or the number of a GPU
  executor parallel_;
  std::vector<planned_problem> planned_;
  std::vector<planning::batch_move> moves_;  // the items that have elements
  planning::batch_choice cpu_shares_;        // on the CPU
  planning::gpu_batch shared_launches_;      // on a GPU; its tables are only in that GPU's memory
  std::vector<told_shape> told_;             // the largest ones
  std::unique_ptr<void, released> table_;
  std::vector<running::gpu_variant> variants_;
  std::vector<own_launch> own_launches_;
};

}  // namespace cornerturn::detail
