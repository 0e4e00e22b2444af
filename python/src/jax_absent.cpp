#include "jax.hpp"

namespace cornerturn::python::jax {

nanobind::dict handlers() { return {}; }

}  // namespace cornerturn::python::jax
