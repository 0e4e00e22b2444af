// The arguments of the family end_to_end: short dst runs that are contiguous with their neighbours.
#pragma once

#include "kernels/cpu/blocking.hpp"

namespace cornerturn::kernels::cpu::end_to_end {

using lines_args = blocking;
using packed_args = packed_blocking;

// A batch of matrices that are contiguous on both sides; rows and cols are powers of two.
struct small_args : packed_blocking {};

inline constexpr std::int64_t small_bytes = 256;         // most bytes of a matrix
inline constexpr std::int64_t small_lines_bytes = 1024;  // most bytes with AVX-512 and words of 2 bytes or more

}  // namespace cornerturn::kernels::cpu::end_to_end
