#include "kernels/kernel.hpp"

namespace cornerturn::kernels {
namespace {

constexpr kernel table[] = {
#define CORNERTURN_KERNEL(name, backend, family, element_bytes, note) \
  {#name, #backend, #family, element_bytes, note, &name, nullptr, 0, 0, 0},
#define CORNERTURN_IN_PLACE_KERNEL(name, backend, family, element_bytes, note) \
  {#name, #backend, #family, element_bytes, note, nullptr, nullptr, 0, 0, 0, &name},
#define CORNERTURN_APPLY_KERNEL(name, backend, family, element_bytes, note) \
  {#name, #backend, #family, element_bytes, note, nullptr, nullptr, 0, 0, 0, nullptr, &name},
#define CORNERTURN_GPU_KERNEL(name, backend, family, element_bytes, tile_rows, tile_cols, shared_bytes, note) \
  {#name, #backend, #family, element_bytes, note, nullptr, &name, tile_rows, tile_cols, shared_bytes},
#include "kernels/kernels.inc"
#undef CORNERTURN_KERNEL
#undef CORNERTURN_IN_PLACE_KERNEL
#undef CORNERTURN_APPLY_KERNEL
#undef CORNERTURN_GPU_KERNEL
};

}  // namespace

std::span<const kernel> all() noexcept { return table; }

const kernel* find(std::string_view name) noexcept {
  for (const kernel& one : table) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

}  // namespace cornerturn::kernels
