#include "dist/route.hpp"

#include "cornerturn/error.hpp"

namespace cornerturn::distributed {

std::size_t stored_blocks::number_of(std::int64_t cell) const noexcept {
  std::size_t number = 0;
  while (all[number].cell != cell) ++number;
  return number;
}

namespace {

void check_side(const stored_blocks& blocks, std::size_t count, const void* const* pointers, const std::string& name) {
  if (count != blocks.all.size()) {
    throw error(status::invalid_argument, name + " has " + std::to_string(count) + " pointers, wanted " +
                                              std::to_string(blocks.all.size()) +
                                              ", one for each block of this process");
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (pointers[k] != nullptr || blocks.all[k].empty) continue;
    throw error(status::invalid_argument, name + "[" + std::to_string(k) + "] is null, wanted the block of cell " +
                                              std::to_string(blocks.all[k].cell));
  }
}

}  // namespace

void check_pointers(const task& all, std::span<const void* const> src, std::span<void* const> dst) {
  check_side(all.src, src.size(), src.data(), "src");
  check_side(all.dst, dst.size(), dst.data(), "dst");
}

}  // namespace cornerturn::distributed
