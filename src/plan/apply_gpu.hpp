// Which GPU kernel computes a canonical problem with math, and how the grid is numbered: the list of apply_gpu.cpp.
#pragma once

#include "kernels/op.hpp"
#include "plan/choose_gpu.hpp"

namespace cornerturn::planning {

// form: of a problem with that math. wanted.alignment is that of every array there is; the larger element also stands
// for arrays that are multiples of their own elements.
[[nodiscard]] gpu_choice choose_apply(const map::canonical& form, const kernels::op& math,
                                      const gpu_request& wanted) noexcept;

// What a kernel needs to know of the math: see kernels/gpu/job.hpp.
[[nodiscard]] gpu::math_job math_of(const kernels::op& math) noexcept;

}  // namespace cornerturn::planning
