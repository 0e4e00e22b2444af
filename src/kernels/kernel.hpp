// The list as a table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/job.hpp"

namespace cornerturn::kernels {

// Effect  starts `blocks` blocks of a GPU kernel on the current device; job is the struct of kernels/gpu/job.hpp that
//         its family takes. With 0 blocks nothing is started, and job may be null: the kernel is loaded and allowed
//         the shared memory, so that a later start does no first-use work
// Returns null, or what the driver said
using launch_function = const char* (*)(const void* job, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;

inline constexpr int all_shared_bytes = 0x7fffffff;  // with 0 blocks: as much as the device has

struct kernel {
  const char* name;
  const char* backend;
  const char* family;
  int element_bytes;  // 0: any
  const char* note;
  kernel_function run;     // on the CPU, or null
  launch_function launch;  // on a GPU, or null
  int tile_rows;           // of a GPU kernel whose tile has a fixed size, else 0
  int tile_cols;
  int shared_bytes;                  // that its tile takes
  in_place_function turn = nullptr;  // on the CPU where src is dst, or null
  apply_function apply = nullptr;    // on the CPU where elements change on the way, or null
};

[[nodiscard]] std::span<const kernel> all() noexcept;
[[nodiscard]] const kernel* find(std::string_view name) noexcept;  // null when no row has that name

// Whether src is dst for this row.
[[nodiscard]] inline bool moves_in_place(const kernel& row) noexcept {
  const std::string_view family = row.family;
  return row.turn != nullptr || family == "swap" || family == "exchange" || family == "cycles" ||
         family.starts_with("strips");
}

// Whether the row takes many items at a time, for batches only.
[[nodiscard]] inline bool moves_batches(const kernel& row) noexcept {
  return std::string_view(row.family).ends_with("_batch");
}

// Whether elements change on the way, or go to two places.
[[nodiscard]] inline bool computes(const kernel& row) noexcept {
  return std::string_view(row.family).starts_with("apply");
}

// SIMD targets that this build has and this machine runs, best first; the first one is in use.
[[nodiscard]] std::vector<std::string_view> simd_targets();

// Effect  until the next call, only targets named `name` are used ("" for all). For tests; not thread-safe.
// Returns false, and changes nothing, when this machine has no such target
bool force_simd_target(std::string_view name);

#define CORNERTURN_KERNEL(name, backend, family, element_bytes, note) \
  void name(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) noexcept;
#define CORNERTURN_IN_PLACE_KERNEL(name, backend, family, element_bytes, note) \
  void name(const job& work, std::byte* data, std::byte* workspace, std::int64_t begin, std::int64_t end) noexcept;
#define CORNERTURN_APPLY_KERNEL(name, backend, family, element_bytes, note) \
  void name(const job& work, const arrays& all, std::int64_t begin, std::int64_t end) noexcept;
#define CORNERTURN_GPU_KERNEL(name, backend, family, element_bytes, tile_rows, tile_cols, shared_bytes, note) \
  const char* name(const void* job, std::uint32_t blocks, int shared, void* stream) noexcept;
#include "kernels/kernels.inc"
#undef CORNERTURN_KERNEL
#undef CORNERTURN_IN_PLACE_KERNEL
#undef CORNERTURN_APPLY_KERNEL
#undef CORNERTURN_GPU_KERNEL

}  // namespace cornerturn::kernels
