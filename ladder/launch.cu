// Instances of every rung for 1, 2, 4 and 8 bytes, and the table of their launchers.
#include "launch.hpp"

#include <algorithm>
#include <vector>

#include "cute/cute.hpp"
#include "gpu_runtime.hpp"
#include "harness.hpp"
#include "job.hpp"
#include CORNERTURN_GPU_WORDS
// The language header must precede launch.cuh.
#include "launch.cuh"
#if GPU_HAS_TENSOR_MEMORY
#include "tensor_launch.cuh"
#endif
#include "rungs.hpp"

namespace cornerturn::ladder {
namespace {

template <class Rung>
const char* start(const void* src, void* dst, const matrix_shape& shape, void* stream) {
  if constexpr (Rung::is_production || Rung::tensor_load) {
    const arguments a = arguments_for<Rung>(src, dst, shape);
    const std::int64_t blocks = Rung::blocks(a);
    if (blocks == 0) return nullptr;
    if constexpr (Rung::is_production) {
      auto args = args_for<Rung>(a);
      return launch_blocks<Rung>(reinterpret_cast<const void*>(Rung::kernel), &args, blocks, stream);
    } else {
#if GPU_HAS_TENSOR_MEMORY
      return launch_tensor_rung<Rung>(a, blocks, stream);
#endif
    }
  } else {
    return start_rung<Rung>(src, dst, shape, stream);
  }
}

template <class Rung>
void add(std::vector<launcher>& table, const char* name, int compute) {
  constexpr bool is_here = GPU_HAS_TENSOR_MEMORY || !Rung::tensor_load;
  if constexpr (is_here && Rung::word_bytes >= Rung::least_word_bytes) {
    if (compute >= Rung::least_compute) table.push_back({facts_of<Rung>(name), &start<Rung>});
  }
}

std::vector<launcher> all() {
  std::vector<launcher> table;
  gpu_runtime::device_facts here;
  if (gpu_runtime::describe(&here) != gpu_runtime::success) return table;
#define RUNG(file, type)                               \
  add<type<1>>(table, #file, here.compute_capability); \
  add<type<2>>(table, #file, here.compute_capability); \
  add<type<4>>(table, #file, here.compute_capability); \
  add<type<8>>(table, #file, here.compute_capability);
#include "ladder.inc"
#include "tile_sizes.inc"
#undef RUNG
  for (const launcher& one : cute_launchers()) table.push_back(one);
  return table;
}

}  // namespace

const char* vendor_device() { return gpu_runtime::device; }

std::string absence() {
  int devices = 0;
  const gpu_runtime::status status = gpu_runtime::device_count(&devices);
  if (status == gpu_runtime::success && devices > 0) return {};
  return std::string("there is no GPU that ") + gpu_runtime::vendor + " can use (" +
         (status == gpu_runtime::success ? "none found" : gpu_runtime::text_of(status)) + ")";
}

std::span<const launcher> launchers() {
  static const std::vector<launcher> table = all();
  return table;
}

const launcher* find_launcher(std::string_view rung, int word_bytes) {
  const auto table = launchers();
  const auto found = std::ranges::find_if(
      table, [&](const launcher& one) { return one.rung == rung && one.word_bytes == word_bytes; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace cornerturn::ladder
