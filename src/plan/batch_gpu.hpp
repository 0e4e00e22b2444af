// Plans a batch as launches on a GPU: every batch row is asked about each shape, and the cheapest offer wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cornerturn/problem.hpp"
#include "kernels/batch.hpp"
#include "plan/batch_cpu.hpp"
#include "plan/choose.hpp"

namespace cornerturn::planning {

// All items of one problem at one alignment.
struct gpu_batch_shape {
  std::uint32_t which = 0;  // the problem
  int alignment = 16;       // of both pointers, in bytes
  std::int64_t items = 0;
};

struct gpu_batch : kernels::batch_tables {
  std::vector<std::size_t> alone;  // moves that get a launch of their own: no batch row accepts them
  std::vector<gpu_batch_shape> shapes;
};

// Requires  problems without arithmetic, and with elements
[[nodiscard]] gpu_batch lay_out(std::span<const problem> problems, std::span<const batch_move> moves,
                                const kernels::target& on);

// Returns all offers of batch rows for a shape, cheapest first. all_items: of the batch
[[nodiscard]] std::vector<kernels::offer> offers(const problem& what, const gpu_batch_shape& shape,
                                                 std::int64_t all_items, const kernels::target& on);

}  // namespace cornerturn::planning
