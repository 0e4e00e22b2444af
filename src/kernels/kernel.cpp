#include "kernels/kernel.hpp"

#include "kernels/gpu/policy/limits.hpp"
#include "kernels/gpu/policy/offers.hpp"

namespace cornerturn::kernels {

// The offers of the families.
namespace cpu {
#define CPU_ROW(name, family, answer, element_bytes, note, ...)                               \
  namespace family {                                                                          \
  bool answer(const facts& known, const target& on, const kernel& row, offer& made) noexcept; \
  }
#include "kernels/kernels.inc"
}  // namespace cpu

namespace {

#if defined(CORNERTURN_GPU_ROWS)
#define CORNERTURN_LAUNCH(name) &name
#else
#define CORNERTURN_LAUNCH(name) nullptr
#endif
#define GPU_TABLE_ROW(row_name, row_family, its_kind, src_bytes, dst_bytes, rows, cols, shared, launch_limits, text, \
                      answers, lays_out)                                                                             \
  {.name = #row_name,                                                                                                \
   .family = #row_family,                                                                                            \
   .kind = row_kind::its_kind,                                                                                       \
   .element_bytes = src_bytes,                                                                                       \
   .dst_element_bytes = dst_bytes,                                                                                   \
   .note = text,                                                                                                     \
   .offer = answers,                                                                                                 \
   .describe = &gpu::descriptions::row_family,                                                                       \
   .launch = CORNERTURN_LAUNCH(row_name),                                                                            \
   .lay_out = lays_out,                                                                                              \
   .tile_rows = rows,                                                                                                \
   .tile_cols = cols,                                                                                                \
   .shared_bytes = shared,                                                                                           \
   .limits = gpu::launch_limits},

#define CPU_TABLE_ROW(row_name, row_family, its_kind, answer, bytes, text, oracle, strides) \
  {.name = #row_name,                                                                       \
   .family = #row_family,                                                                   \
   .kind = row_kind::its_kind,                                                              \
   .element_bytes = bytes,                                                                  \
   .dst_element_bytes = bytes,                                                              \
   .note = text,                                                                            \
   .offer = &cpu::row_family::answer,                                                       \
   .run = &row_name,                                                                        \
   .is_oracle = oracle,                                                                     \
   .any_stride = strides},

constexpr kernel table[] = {
#define CPU_ROW(name, family, answer, bytes, note, ...) \
  CPU_TABLE_ROW(name, family, move, answer, bytes, note, false, false)
#define CPU_ANY_STRIDE_ROW(name, family, answer, bytes, note, ...) \
  CPU_TABLE_ROW(name, family, move, answer, bytes, note, false, true)
#define CPU_ARITHMETIC_ROW(name, family, answer, bytes, note, ...) \
  CPU_TABLE_ROW(name, family, arithmetic, answer, bytes, note, false, false)
#define CPU_ANY_STRIDE_ARITHMETIC_ROW(name, family, answer, bytes, note, ...) \
  CPU_TABLE_ROW(name, family, arithmetic, answer, bytes, note, false, true)
#define CPU_IN_PLACE_ROW(name, family, answer, bytes, note, ...) \
  CPU_TABLE_ROW(name, family, in_place, answer, bytes, note, false, false)
#define CPU_ORACLE_ROW(name, family, answer, bytes, note, kind) \
  CPU_TABLE_ROW(name, family, kind, answer, bytes, note, true, true)
#define GPU_ROW(name, family, bytes, tile_rows, tile_cols, shared, limits, note, ...)                               \
  GPU_TABLE_ROW(name, family, move, bytes, bytes, tile_rows, tile_cols, shared, limits, note, &gpu::offers::family, \
                nullptr)
#define GPU_BATCH_ROW(name, family, bytes, tile_rows, tile_cols, shared, limits, note, ...)    \
  GPU_TABLE_ROW(name, family, batch, bytes, bytes, tile_rows, tile_cols, shared, limits, note, \
                &gpu::batch_offers::family, &gpu::lay_outs::family)
#define GPU_IN_PLACE_ROW(name, family, bytes, tile_rows, tile_cols, shared, limits, note, ...)    \
  GPU_TABLE_ROW(name, family, in_place, bytes, bytes, tile_rows, tile_cols, shared, limits, note, \
                &gpu::offers::family, nullptr)
#define GPU_ARITHMETIC_ROW(name, family, src_bytes, dst_bytes, tile_rows, tile_cols, shared, limits, note, ...) \
  GPU_TABLE_ROW(name, family, arithmetic, src_bytes, dst_bytes, tile_rows, tile_cols, shared, limits, note,     \
                &gpu::offers::family, nullptr)
// No offer: run/launch.hpp joins problems that have one row of moves.
#define GPU_ALTERNATING_ROW(name, family, bytes, tile_rows, tile_cols, shared, limits, note, ...) \
  GPU_TABLE_ROW(name, family, alternating, bytes, bytes, tile_rows, tile_cols, shared, limits, note, nullptr, nullptr)
#include "kernels/kernels.inc"
};

}  // namespace

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

std::span<const kernel> all() noexcept { return table; }

const kernel* find(std::string_view name) noexcept {
  const bool is_old = name.starts_with("cuda_");
  if (is_old) name.remove_prefix(5);
  for (const kernel& one : table) {
    std::string_view its = one.name;
    if (is_old) {
      if (!its.starts_with("gpu_")) continue;
      its.remove_prefix(4);
    }
    if (name == its) return &one;
  }
  return nullptr;
}

}  // namespace cornerturn::kernels
