// A batch executes many problems in one call: images of different sizes, or a million tiny matrices at any addresses.
// A problem that repeats at a fixed stride needs only one more axis: see batched().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cornerturn/plan.hpp"
#include "cornerturn/problem.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

// One item: a problem and its addresses. An item without elements copies nothing and may have null pointers.
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
  // Effect  checks and plans all items and binds their addresses. For items on a GPU it builds a table in that GPU's
  //         memory: 16 to 32 bytes per small item, 128 bytes per part of a larger one, and up to 2 KiB per different problem
  // Shape   any number of items, of any shapes and element sizes; one device must be able to access all of them
  // Alias   dst of an item shares no byte with src or dst of any item. The constructor checks this within one item.
  //         The caller guarantees it between items: the check would cost more than the copy
  // Stream  on a GPU the call allocates and synchronizes, so no stream may be under capture
  // Errors  as plan::plan and plan::execute, prefixed with the item: "item 17: ...". invalid_argument: an item is in
  //         place, or its math changes elements; options.kernel is set; an item needs a different device than the items
  //         before it. out_of_memory, device_error: the table
  // Cost    microseconds for each different problem, 100 to 300 ns for each item; no access to the data
  explicit batch(std::span<const batch_item> items, const plan_options& options = {});

  // Effect  makes a batch of one problem: item k is copied from src[k] to dst[k]
  // Errors  as the constructor from items; invalid_argument: src and dst have different lengths
  batch(const problem& what, std::span<const void* const> src, std::span<void* const> dst,
        const plan_options& options = {});

  // Effect  copies all items
  // Stream  as plan::execute, also under capture: the call neither allocates nor synchronizes. On a GPU the batch must
  //         outlive the copy and every graph that contains it
  // Errors  device_error: the driver refused a launch
  // Cost    bytes_moved() of traffic in launches() launches: a few per word size, one per shape of small aligned matrices, and
  //         one per large item
  void execute(void* stream = nullptr) const;

  // Effect  returns a text: items and bytes, and the number of items for each kernel
  [[nodiscard]] std::string explain() const;

  [[nodiscard]] std::int64_t size() const noexcept;         // items, including empty ones
  [[nodiscard]] std::int64_t bytes_moved() const noexcept;  // read once + written once
  [[nodiscard]] int launches() const noexcept;              // kernel launches on a GPU; 0 on the CPU
  [[nodiscard]] int threads() const noexcept;               // most threads that execute uses on the CPU; 0 on a GPU

 private:
  std::shared_ptr<const detail::batch_state> state_;
};

}  // namespace cornerturn
#pragma GCC visibility pop
