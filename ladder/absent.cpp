// The harness of a build without CUDA and HIP.
#include <ostream>

#include "harness.hpp"

namespace cornerturn::ladder {

const char* vendor_device() { return ""; }
std::string absence() { return "this build has neither CUDA nor HIP, so the rungs cannot run"; }

void use_device(int) {}
int check_rungs(std::ostream&) { return 0; }
std::vector<timing> time_rungs(const matrix_shape&, int, int, std::string_view) { return {}; }
timed_on this_device() { return {}; }

}  // namespace cornerturn::ladder
