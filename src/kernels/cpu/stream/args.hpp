// The arguments of the family stream: large matrices by register blocks, dst in whole cache lines.
#pragma once

#include "kernels/cpu/blocking.hpp"
#include "kernels/cpu/small_item.hpp"

namespace cornerturn::kernels::cpu::stream {

using panels_args = blocking;

struct lines_args : blocking {
  std::int64_t lines = 1;  // lines of a dst run that are staged and written together; a power of two
};

struct strips_args : blocking {
  std::int64_t lines = 2;  // lines of a dst run that are written together
};

struct elements_args : blocking {
  std::int64_t folded = 1;  // rows of few columns that are loaded as one; see row_fold
  // Src rows consist of such items, and are shuffled into L1 first. The src strides are then strides of shuffled rows.
  bool shuffled = false;
  small_item item;
};

}  // namespace cornerturn::kernels::cpu::stream
