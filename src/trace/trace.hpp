// What a GPU row asks of memory, counted on the host: the emulator runs the row's own text and sees every address.
//   1. The library's planner says which kernels the row starts for the problem, with which arguments
//   2. Few blocks: all of them run. Many: the first and last blocks along each axis of the grid run, and of those between
//      one of each remainder of its index. Their counts are scaled by how many blocks they stand for
//   3. Arrays begin at multiples of 4096 bytes and hold zeros. No row's addresses depend on the elements
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cornerturn/problem.hpp"
#include "model/count.hpp"
#include "model/occupancy.hpp"

namespace cornerturn::trace {

struct launch_count {
  std::string row;
  std::int64_t blocks = 0;
  std::int64_t counted_blocks = 0;  // below `blocks`: the counts are scaled
  bool has_flags = false;           // blocks wait for each other: on a GPU they load flags as often as they have to
  int shared_bytes = 0;
  model::traffic counts;
  std::int64_t atomics = 0;  // requests
};

struct row_count {
  std::vector<launch_count> launches;  // in order; one for each kernel of the row's program, however often it starts
  std::vector<std::int64_t> starts;    // of each launch

  [[nodiscard]] model::traffic sum() const;
  [[nodiscard]] bool is_scaled() const;
  [[nodiscard]] bool has_flags() const;
};

// False if this build cannot see the accesses of the texts.
[[nodiscard]] bool can_count() noexcept;

// Requires  can_count(); a machine with NVIDIA's rules
// Errors    invalid_argument: `row` is no GPU row, or it cannot move the problem.  internal: the emulator found a fault
[[nodiscard]] row_count count(const problem& what, std::string_view row, const model::architecture& machine);

// The names of the GPU rows.
[[nodiscard]] std::vector<std::string_view> rows();

// A problem of this shape that the row may move: elements of `src_bytes`; axes as numpy.transpose takes them. A row that moves
// in place gets one in place. A row that computes gets the first arithmetic that it accepts.
[[nodiscard]] problem problem_for(std::string_view row, const std::vector<std::int64_t>& shape,
                                  const std::vector<int>& axes, std::int64_t element_bytes);

}  // namespace cornerturn::trace
