// A build without the emulator.
#include "ladder/emulated/emulated.hpp"

namespace cornerturn::ladder {

std::filesystem::path file_of_rung(std::string_view rung) { return std::string(rung) + ".cuh"; }

emulated_rung emulate(const std::filesystem::path&, std::string_view, int, const std::vector<matrix_shape>&) {
  throw no_emulator("this build has no emulator: it needs g++ without sanitizers, and -DCORNERTURN_COUNT_ROWS=ON");
}

}  // namespace cornerturn::ladder
