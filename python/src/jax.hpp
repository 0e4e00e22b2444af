// Handlers for XLA's foreign function interface.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python::jax {

// Returns {"cpu": capsule, "CUDA": capsule}; empty in a build without XLA's headers
[[nodiscard]] nanobind::dict handlers();

}  // namespace cornerturn::python::jax
