#include "kernels/kernel.hpp"

#include "kernels/gpu/policy/limits.hpp"
#include "kernels/gpu/policy/offers.hpp"

namespace cornerturn::kernels {
namespace {

#if defined(CORNERTURN_CUDA)
#define CORNERTURN_LAUNCH(name) &name
#else
#define CORNERTURN_LAUNCH(name) nullptr
#endif
#define GPU_TABLE_ROW(name, family, kind, src_bytes, dst_bytes, tile_rows, tile_cols, shared_bytes, limits, note) \
  {#name,                                                                                                         \
   "cuda",                                                                                                        \
   #family,                                                                                                       \
   kind,                                                                                                          \
   src_bytes,                                                                                                     \
   dst_bytes,                                                                                                     \
   note,                                                                                                          \
   &gpu::offers::family,                                                                                          \
   &gpu::descriptions::family,                                                                                    \
   CORNERTURN_LAUNCH(name),                                                                                       \
   tile_rows,                                                                                                     \
   tile_cols,                                                                                                     \
   shared_bytes,                                                                                                  \
   gpu::limits},

constexpr kernel table[] = {
#define CORNERTURN_KERNEL(name, backend, family, bytes, note) \
  {#name, #backend, #family, row_kind::move, bytes, bytes, note, nullptr, nullptr, nullptr, 0, 0, 0, 0, &name},
#define CORNERTURN_IN_PLACE_KERNEL(name, backend, family, bytes, note)                                   \
  {#name, #backend, #family, row_kind::in_place, bytes, bytes, note, nullptr, nullptr, nullptr, 0, 0, 0, \
   0,     nullptr,  &name},
#define CORNERTURN_APPLY_KERNEL(name, backend, family, bytes, note)                                             \
  {#name,   #backend, #family, row_kind::arithmetic, bytes, bytes, note, nullptr, nullptr, nullptr, 0, 0, 0, 0, \
   nullptr, nullptr,  &name},
#define GPU_ROW(name, family, bytes, tile_rows, tile_cols, shared, limits, note, ...) \
  GPU_TABLE_ROW(name, family, row_kind::move, bytes, bytes, tile_rows, tile_cols, shared, limits, note)
#define GPU_BATCH_ROW(name, family, bytes, tile_rows, tile_cols, shared, limits, note, ...) \
  GPU_TABLE_ROW(name, family, row_kind::batch, bytes, bytes, tile_rows, tile_cols, shared, limits, note)
#define GPU_IN_PLACE_ROW(name, family, bytes, tile_rows, tile_cols, shared, limits, note, ...) \
  GPU_TABLE_ROW(name, family, row_kind::in_place, bytes, bytes, tile_rows, tile_cols, shared, limits, note)
#define GPU_ARITHMETIC_ROW(name, family, src_bytes, dst_bytes, tile_rows, tile_cols, shared, limits, note, ...) \
  GPU_TABLE_ROW(name, family, row_kind::arithmetic, src_bytes, dst_bytes, tile_rows, tile_cols, shared, limits, note)
#include "kernels/kernels.inc"
};

}  // namespace

std::span<const kernel> all() noexcept { return table; }

const kernel* find(std::string_view name) noexcept {
  for (const kernel& one : table) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

const char* name(bound limit) noexcept {
  switch (limit) {
    case bound::nothing:
      return "nothing";
    case bound::dram:
      return "DRAM";
    case bound::requests:
      return "requests";
    case bound::shared:
      return "shared memory";
    case bound::issue:
      return "instructions";
    case bound::latency:
      return "latency";
  }
  return "";
}

}  // namespace cornerturn::kernels
