// The GPU part of a plan: the kernels chosen for one device, and the conversion of a choice into a launch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cornerturn/problem.hpp"
#include "kernels/gpu/device.hpp"
#include "map/canonical.hpp"
#include "plan/rectangle_gpu.hpp"

namespace cornerturn::detail {

// One canonical form of the problem and its kernel. All addresses of index 0 must be multiples of `alignment`.
struct gpu_variant {
  map::canonical form;
  kernels::offer chosen;                                     // for a rectangle in place: only row and reason
  std::shared_ptr<const planning::gpu_rectangle> rectangle;  // null: `chosen` is the whole choice
  int alignment = 16;
  bool tuned = false;  // tune() chose it, not the predicted times
};

// Two variants. `aligned`: the pointers are multiples of 16 bytes. `element_aligned`: they are multiples of the largest
// power of two that divides the element size, or the larger element size if math converts elements.
// For other pointers execute calls choose_variant(), which only allocates for a rectangle in place.
struct gpu_plan {
  gpu_variant aligned;
  gpu_variant element_aligned;

  // The pointers may be less aligned than the result.
  [[nodiscard]] const gpu_variant& for_alignment(int alignment) const noexcept {
    return alignment >= aligned.alignment ? aligned : element_aligned;
  }
};

// kernel: forces this row; empty: the cheapest offer wins.
// Returns chosen.row null if the row does not accept the problem
[[nodiscard]] gpu_variant choose_variant(const problem& what, const gpu::device_info& on, int alignment,
                                         std::string_view kernel);
[[nodiscard]] gpu_plan choose_variants(const problem& what, const gpu::device_info& on, std::string_view kernel);

// Returns the bytes that the problem in place needs on any GPU, with that row (empty: with each)
[[nodiscard]] std::int64_t workspace_on_gpu(const problem& what, std::string_view kernel);

// Effect  calls take(offer) for each row that accepts the problem, with words of the row's own size where the problem has longer
//         ones. A rectangle in place has no offers: it runs several kernels
void each_gpu_offer(const problem& what, const gpu::device_info& on, int alignment,
                    const std::function<void(const kernels::offer&)>& take);

// Returns all offers for the variant, cheapest first
[[nodiscard]] std::vector<kernels::offer> offers_of(const problem& what, const gpu_variant& variant,
                                                    const kernels::target& on);

// Returns the largest power of two, up to 16, that divides both addresses of index 0.
[[nodiscard]] int alignment_of(const map::canonical& form, std::uint64_t src, std::uint64_t dst) noexcept;

// The arrays of a problem with math on a GPU: pointers of index 0.
struct gpu_arrays {
  const void* src = nullptr;
  void* dst = nullptr;
  void* second = nullptr;        // second source or destination; dst itself if beta applies to dst
  const float* scale = nullptr;  // read by the kernel
};
// True if each address is a multiple of its own element size.
[[nodiscard]] bool has_whole_elements(const map::canonical& form, const gpu_arrays& all) noexcept;
// Returns the largest power of two, up to 16, that divides all addresses, but at least the larger element size if each
// address is a multiple of its own element size
[[nodiscard]] int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept;

// Effect  starts the kernel on the current device
// Returns null, or the driver's message
[[nodiscard]] const char* start_move(const gpu_variant& variant, const map::byte_span& src_span, const void* src,
                                     void* dst, void* stream) noexcept;
[[nodiscard]] const char* start_arithmetic(const gpu_variant& variant, const gpu_arrays& all, void* stream) noexcept;
// Effect  starts all kernels of a rectangle in place on the current device; data points at index 0. With an empty
//         workspace, it allocates one in the stream
// Returns null, or the driver's message
// Errors  invalid_argument: the workspace is too small, or the device cannot access it. out_of_memory
[[nodiscard]] const char* start_rectangle(int device, const planning::gpu_rectangle& all, std::byte* data,
                                          std::span<std::byte> workspace, void* stream);

// Effect  loads the kernels on that device
// Errors  device_error: they do not load there
void check_loaded(int device, const kernels::kernel& row);
void check_loaded(int device, const gpu_variant& variant);
// Errors  overflow: the problem exceeds the size of a GPU grid
void check_fits(const gpu_variant& variant);
// Errors  device_error: the launch returned a message
void check_launched(const char* message, int device, const char* kernel);

// Returns the GPU part of plan.explain(). explain.cpp defines it.
[[nodiscard]] std::string explain(const problem& what, const gpu_plan& plan, const gpu::device_info& on);

}  // namespace cornerturn::detail
