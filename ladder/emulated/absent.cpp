// A build without the emulator.
#include "ladder/emulated/emulated.hpp"

namespace cornerturn::ladder {

bool has_emulator() { return false; }

std::filesystem::path file_of_rung(std::string_view rung) { return std::string(rung) + ".cuh"; }

emulated_rung emulate(const std::filesystem::path&, std::string_view, int, const std::vector<matrix_shape>&) {
  throw no_emulator(std::string("this build of the command has no emulator, as in a Python package, or a build with "
                                "sanitizers or -DCORNERTURN_COUNT_ROWS=OFF. ") +
                    wanted_emulator);
}

}  // namespace cornerturn::ladder
