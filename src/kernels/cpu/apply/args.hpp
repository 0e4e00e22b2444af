// The arguments of the family apply: arithmetic, conversion, or two destinations.
#pragma once

#include "kernels/cpu/blocking.hpp"
#include "kernels/op.hpp"

namespace cornerturn::kernels::cpu::apply {

struct args : blocking {
  std::int64_t dst_word_bytes = 1;
  op math{};
};

struct strips_args : args {
  std::int64_t lines = 2;  // lines of a dst run that are written together
};

// Any strides.
struct view_args : args {
  std::int64_t src_begin = 0;  // bytes from the word of index 0 to the first one of dst, whose axes lead upwards
  std::int64_t dst_begin = 0;
  std::int64_t second_begin = 0;
};

// Boxes of any strides. rows: `inner` short axes, then the axis that is cut into pieces of `group` elements; cols: one axis.
struct gather_args : view_args {
  int inner = 0;
  std::int64_t inner_total = 1;  // elements of the inner axes
};
inline constexpr std::int64_t most_box_cols = 256;

// A unit is a box of any axes: only the last one of the rows and the last one of the columns are cut. So the offset of an element in
// its box is a sum of two numbers of two tables, and each box takes the first entries of both.
struct tables_args : view_args {};
inline constexpr std::int64_t most_table_entries = 2048;

// True if an array is loaded or stored column by column, because its columns are nearer than its rows. Bytes of a step.
[[nodiscard]] constexpr bool is_turned(std::int64_t row_step, std::int64_t col_step) noexcept {
  return col_step != 0 && base::magnitude(row_step) >= 64 && base::magnitude(col_step) < base::magnitude(row_step);
}

}  // namespace cornerturn::kernels::cpu::apply
