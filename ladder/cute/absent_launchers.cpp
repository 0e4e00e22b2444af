// A build without CUTLASS, or with HIP, launches no CuTe rung.
#include "cute.hpp"

namespace cornerturn::ladder {

std::vector<launcher> cute_launchers() { return {}; }

}  // namespace cornerturn::ladder
