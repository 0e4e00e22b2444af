// The arguments of the oracles.
#pragma once

#include "kernels/op.hpp"
#include "map/canonical.hpp"

namespace cornerturn::kernels::cpu::reference {

struct args {
  map::canonical form;
  op math{};
};

}  // namespace cornerturn::kernels::cpu::reference
