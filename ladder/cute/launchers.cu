// Instances of the CuTe rungs for 4 and 8 bytes.
#include "../launch.hpp"

#include "kernels/cuda/lang.cuh"
// The language header must precede launch.cuh.
#include "../launch.cuh"
#include "cute.hpp"
#include "rungs.cuh"

namespace cornerturn::ladder {

std::vector<launcher> cute_launchers() {
  std::vector<launcher> table;
#define RUNG(file, type)                                             \
  table.push_back({facts_of<type<4>>(#file), &start_rung<type<4>>}); \
  table.push_back({facts_of<type<8>>(#file), &start_rung<type<8>>});
#include "cute.inc"
#undef RUNG
  return table;
}

}  // namespace cornerturn::ladder
