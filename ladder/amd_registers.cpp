#include "amd_registers.hpp"

#include <algorithm>
#include <iterator>

namespace cornerturn::ladder {
namespace {

constexpr std::string_view architectures[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100"};

struct row {
  std::string_view rung;
  int word_bytes;
  int registers[std::size(architectures)];
};

constexpr row table[] = {
#define AMD_REGISTERS(rung, word_bytes, ...) {#rung, word_bytes, {__VA_ARGS__}},
#include "amd_registers.inc"
#undef AMD_REGISTERS
};

}  // namespace

int amd_registers(std::string_view rung, int word_bytes, std::string_view arch) {
  const auto* const which = std::ranges::find(architectures, arch);
  const auto* const found =
      std::ranges::find_if(table, [&](const row& one) { return one.rung == rung && one.word_bytes == word_bytes; });
  if (which == std::end(architectures) || found == std::end(table)) return 0;
  return found->registers[which - architectures];
}

}  // namespace cornerturn::ladder
