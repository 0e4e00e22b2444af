// The arguments of the family gather: elements of any size and stride, and boxes of short axes.
#pragma once

#include "kernels/cpu/blocking.hpp"
#include "kernels/cpu/small_item.hpp"

namespace cornerturn::kernels::cpu::gather {

using elements_args = blocking;
using packed_args = packed_blocking;
struct shuffled_args : blocking {
  small_item item;  // an element of the blocking
};
using box_args = blocking;  // a unit is a box: all rows and all cols

struct strided_args {
  std::int64_t word_bytes = 1;
  fused_axes outer;
};

}  // namespace cornerturn::kernels::cpu::gather
