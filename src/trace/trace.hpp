// The memory requests of a GPU row, counted on the host: the emulator runs the row's own text and sees every address.
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

inline constexpr std::int64_t all_blocks = 512;  // of a launch: up to so many, each one runs

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
  std::vector<launch_count> launches;  // in the order in which the row's plan starts them

  [[nodiscard]] model::traffic sum() const;
  [[nodiscard]] bool is_scaled() const;
  [[nodiscard]] bool has_flags() const;
};

// False if this build cannot tell the memory instructions of the texts apart: g++ without sanitizers can.
[[nodiscard]] bool can_count() noexcept;

// A problem, the row that is forced, and where the arrays begin.
struct row_case {
  problem what;
  std::string row;             // empty: the planner chooses
  std::int64_t src_shift = 0;  // bytes behind a multiple of 4096
  std::int64_t dst_shift = 0;
  int items = 0;  // of a batch of this problem, without a forced row; 0: no batch
};
// Bytes from one item of a batch to the next.
struct item_steps {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};
[[nodiscard]] item_steps steps_of(const row_case& one);

// Bytes of its arrays, whose strides are not negative.
struct array_bytes {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};
[[nodiscard]] array_bytes bytes_of(const row_case& one);

// Requires  can_count(); a machine with NVIDIA's rules
// Errors    invalid_argument: the row is no GPU row, or it cannot move the problem.  internal: the emulator found a fault
[[nodiscard]] row_count count(const row_case& one, const model::architecture& machine);
[[nodiscard]] row_count count(const problem& what, std::string_view row, const model::architecture& machine);

// The launches that count() would run. Empty if the row cannot move the problem.
struct planned_launch {
  std::string row;
  std::int64_t blocks = 0;
  bool has_flags = false;
};
[[nodiscard]] std::vector<planned_launch> plan_of(const row_case& one, const model::architecture& machine);

// The names of the GPU rows.
[[nodiscard]] std::vector<std::string_view> rows();

// Arithmetic on elements of this size, simple kinds first.
[[nodiscard]] std::vector<arithmetic> math_of(std::int64_t element_bytes);

// A problem of this shape that the row may move: elements of `src_bytes`; axes as numpy.transpose takes them. A row that moves
// in place gets one in place. A row that computes gets the first arithmetic that it accepts.
[[nodiscard]] problem problem_for(std::string_view row, const std::vector<std::int64_t>& shape,
                                  const std::vector<int>& axes, std::int64_t element_bytes);

struct named_case : row_case {
  std::string
      text;  // 2x500x300/0,2,1+ld3@1: extents, axes, padding, shift; ! is in place, #40 a batch, =f>g arithmetic
};

// Up to `count` different problems that start the row on this machine: alone, as a part of a program in place, or as a batch.
// Each launch has few enough blocks to be counted exactly. The list is the same each time. Not thread-safe.
[[nodiscard]] std::vector<named_case> cases_for(std::string_view row, int count, const model::architecture& machine);

}  // namespace cornerturn::trace
