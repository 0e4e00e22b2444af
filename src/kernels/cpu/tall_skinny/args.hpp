// The arguments of the family tall_skinny: few columns, whose rows are contiguous in src.
#pragma once

#include "kernels/cpu/blocking.hpp"

namespace cornerturn::kernels::cpu::tall_skinny {

using args = blocking;

}  // namespace cornerturn::kernels::cpu::tall_skinny
