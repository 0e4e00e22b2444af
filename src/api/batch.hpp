// What a cornerturn::batch points to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/gpu_half.hpp"
#include "cornerturn/batch.hpp"
#include "map/canonical.hpp"
#include "plan/batch.hpp"
#include "plan/batch_gpu.hpp"

namespace cornerturn::detail {

// A batch as it was given: its different problems, and its items with their numbers.
class batch_list {
 public:
  void add(const problem& what, const void* src, void* dst);
  void reserve(std::size_t items) { items_.reserve(items); }
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
  [[nodiscard]] int launches() const noexcept { return static_cast<int>(together_.launches.size() + alone_.size()); }
  [[nodiscard]] int threads() const noexcept { return on_gpu() ? 0 : shared_out_.threads(); }

 private:
  // A problem as all its items need it.
  struct part {
    map::canonical form;
    map::byte_span src_span, dst_span;  // relative to the caller's pointers
    std::int64_t src_start = 0;         // bytes from there to index 0
    std::int64_t dst_start = 0;
  };
  struct released {
    void operator()(void* memory) const noexcept { gpu::release(memory); }
  };
  // A launch of its own, by the kernel that a plan would take.
  struct own_launch {
    std::uint32_t way = 0;
    planning::batch_move item;
  };

  [[nodiscard]] bool on_gpu() const noexcept { return place_ >= 0; }
  void add_problems(const batch_list& all);
  void add_items(const batch_list& all, device on);
  void prepare_gpu(const batch_list& all);
  void run(int thread) const;

  std::int64_t size_ = 0;
  std::int64_t bytes_ = 0;
  int place_;  // api::on_cpu, or the number of a GPU
  executor parallel_;
  std::vector<part> parts_;
  std::vector<planning::batch_move> moves_;  // the items that have elements
  planning::batch_choice shared_out_;        // on the CPU
  planning::gpu_batch together_;             // on a GPU; its table is in that GPU's memory only
  std::unique_ptr<void, released> table_;
  std::vector<gpu_way> ways_;
  std::vector<own_launch> alone_;
};

}  // namespace cornerturn::detail
