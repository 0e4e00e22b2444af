// A batch moves many problems in one call: images of all sizes, or a million tiny matrices that lie anywhere. One
// problem that repeats at a fixed distance wants no batch, but one more axis: see batched().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cornerturn/plan.hpp"
#include "cornerturn/problem.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

// One item: its own problem between its own addresses. An item without elements moves nothing and may have null ones.
struct batch_item {
  problem what;
  const void* src = nullptr;
  void* dst = nullptr;
};

namespace detail {
class batch_state;
}

class batch {
 public:
  // Effect  checks and plans all items; the addresses are bound. Where they are a GPU's, a table of them is made in its
  //         memory, some 16 bytes for an item and for each 16 KiB that it has, and a KiB for each kind of item
  // Shape   any number of items, of any shapes and element sizes; all lie where one device can reach them
  // Alias   dst of an item shares no byte with src or dst of any item. Within one item that is checked; between items
  //         it is the caller's to know: the check would cost more than the move
  // Errors  those of plan::plan and plan::execute, each with the item: "item 17: ...". invalid_argument: an item is in
  //         place, or has math that changes elements; options.kernel is set; an item runs on another device than those
  //         before it. out_of_memory, device_error: the table
  // Stream  a GPU's: the call allocates and waits, so no stream may be under capture
  // Cost    microseconds for each different problem, 100 to 300 ns for each item; no access to the data
  explicit batch(std::span<const batch_item> items, const plan_options& options = {});

  // Effect  as above, of one problem: item k is moved from src[k] to dst[k]
  // Errors  as above; invalid_argument: src and dst have different lengths
  batch(const problem& what, std::span<const void* const> src, std::span<void* const> dst,
        const plan_options& options = {});

  // Effect  moves all items
  // Stream  as plan::execute, under capture too: nothing is allocated and nothing waits. On a GPU the batch must live
  //         until the move has ended, and as long as a graph that holds it
  // Errors  device_error: the driver refused a launch
  // Cost    bytes_moved() of traffic in launches() launches: one for each size of words, and one for each large item
  void execute(void* stream = nullptr) const;

  // Effect  what there is to move, which kernels move how many items
  [[nodiscard]] std::string explain() const;

  [[nodiscard]] std::int64_t size() const noexcept;         // items, empty ones too
  [[nodiscard]] std::int64_t bytes_moved() const noexcept;  // read once + written once
  [[nodiscard]] int launches() const noexcept;              // of kernels on a GPU; 0 on the CPU
  [[nodiscard]] int threads() const noexcept;               // tasks that execute starts on the CPU; 0 on a GPU

 private:
  std::shared_ptr<const detail::batch_state> state_;
};

}  // namespace cornerturn
#pragma GCC visibility pop
