// A plan behind dist::plan: a route, and the blocks that it moves.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cornerturn/dist.hpp"
#include "dist/boxes.hpp"

namespace cornerturn::dist::detail {

class plan_state {
 public:
  virtual ~plan_state() = default;
  virtual void execute(std::span<const void* const> src, std::span<void* const> dst,
                       std::span<void* const> streams) const = 0;
  [[nodiscard]] virtual std::string explain() const = 0;
  [[nodiscard]] virtual std::int64_t bytes_sent() const noexcept = 0;
};

}  // namespace cornerturn::dist::detail

namespace cornerturn::distributed {

// A block of this process, with strides in elements by axis of dst.
struct stored_block {
  std::int64_t cell = 0;
  strides along{};
  bool empty = false;
};
// The blocks of one side, in the order of ranks, then of cells: the order of the pointers of execute().
struct stored_blocks {
  std::vector<stored_block> all;
  // Requires  a rank of this process owns the cell
  [[nodiscard]] std::size_t number_of(std::int64_t cell) const noexcept;
};

// A checked problem: what a route knows.
struct task {
  dist::problem what;
  overlay links;
  stored_blocks src, dst;
  int src_axis = -1;  // the axis of dst that the last axis of src becomes
};

// Errors  invalid_argument: another number of pointers than blocks; a null pointer to a block with elements
void check_pointers(const task& all, std::span<const void* const> src, std::span<void* const> dst);

}  // namespace cornerturn::distributed
