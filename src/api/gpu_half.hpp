// The GPU half of a plan: what was chosen for one device, and how a choice becomes a launch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cornerturn/problem.hpp"
#include "kernels/gpu/device.hpp"
#include "map/canonical.hpp"
#include "plan/rectangle_gpu.hpp"

namespace cornerturn::detail {

// One form of the problem and the kernel for it, when all pointers of index 0 are multiples of `alignment`.
struct gpu_way {
  map::canonical form;
  kernels::offer chosen;                                     // of a rectangle in place: its row and reason alone
  std::shared_ptr<const planning::gpu_rectangle> rectangle;  // null: chosen is all
  int alignment = 16;
  bool tuned = false;  // what tune() found, not what the list says
};

// Chosen twice: for pointers that are multiples of 16 bytes, and for those that are multiples of the largest power of
// two that divides an element: the larger one, where math makes one size of another. Others are met by prepare() at the
// call: it allocates nothing, but for a rectangle in place.
struct gpu_half {
  gpu_way wide;
  gpu_way narrow;
};

// kernel: force this row; empty: the cheapest offer. chosen.row is null where the row cannot move the problem.
[[nodiscard]] gpu_way prepare(const problem& what, const gpu::device_info& on, int alignment, std::string_view kernel);
[[nodiscard]] gpu_half prepare(const problem& what, const gpu::device_info& on, std::string_view kernel);

// The largest power of two, up to 16, that divides both addresses of index 0.
[[nodiscard]] int alignment_of(const map::canonical& form, std::uint64_t src, std::uint64_t dst) noexcept;

// The arrays of a problem with math on a GPU: pointers of index 0.
struct gpu_arrays {
  const void* src = nullptr;
  void* dst = nullptr;
  void* second = nullptr;        // that is read or written; dst itself where beta wants that
  const float* scale = nullptr;  // read by the kernel
};
// The same for all of them; but where each is a multiple of its own elements, at least the larger element.
[[nodiscard]] int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept;

// Effect  starts the kernel on the current device
// Returns null, or what the driver said
[[nodiscard]] const char* start(const gpu_way& way, const gpu_arrays& all, void* stream) noexcept;
[[nodiscard]] const char* start(const gpu_way& way, const map::byte_span& src_span, const void* src, void* dst,
                                void* stream) noexcept;
// The same of a rectangle in place; data points at index 0.
[[nodiscard]] const char* start(const planning::gpu_rectangle& all, std::byte* data, std::byte* workspace,
                                void* stream) noexcept;

// Errors  device_error: the kernels do not load on that device
void check_loaded(int device);
// Errors  overflow: the list has no kernel for the problem
void check_fits(const gpu_way& way);
// Errors  device_error: start() said something
void check_start(const char* said, int device, const char* kernel);

// The part of plan.explain() that is about the GPU.
[[nodiscard]] std::string explain(const problem& what, const gpu_half& half, const gpu::device_info& on);

}  // namespace cornerturn::detail
