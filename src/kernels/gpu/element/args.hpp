#pragma once

#include "kernels/gpu/policy/element_grid.hpp"
#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

struct element_args : array_args, element_grid {};
static_assert(sizeof(element_args) <= 256);

struct several_args : array_args, several_grid {};
static_assert(sizeof(several_args) <= 256);

struct repeat_args : array_args, repeated_grid {};

}  // namespace cornerturn::gpu
