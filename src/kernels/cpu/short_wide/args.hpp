// The arguments of the family short_wide: few rows, whose columns are contiguous in dst.
#pragma once

#include "kernels/cpu/blocking.hpp"

namespace cornerturn::kernels::cpu::short_wide {

using any_args = blocking;
using join_args = packed_blocking;

}  // namespace cornerturn::kernels::cpu::short_wide
