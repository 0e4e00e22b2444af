// Handlers for XLA's foreign functions.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python::jax {

// Effect  {"cpu": capsule, "CUDA": capsule}; empty in a build without XLA's headers
[[nodiscard]] nanobind::dict handlers();

}  // namespace cornerturn::python::jax
