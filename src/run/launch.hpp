// A problem on a GPU: which kernel runs it, and its launches.
//   1. A variant is the kernel for pointers of one alignment. plan/choose.hpp asks the rows.
//   2. A launch has the arguments of the row with the pointers of one call. Rectangles in place are programs of launches.
// Launches run on the current device, and never ask whose memory a pointer is: dst may be the memory of another GPU that this one can
// access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cornerturn/problem.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/gpu/traits.hpp"
#include "map/canonical.hpp"
#include "plan/rectangle_gpu.hpp"

namespace cornerturn::running {

// 1. A variant.

// A checked problem: what a plan knows before it knows a device.
struct work {
  work(const problem& what) noexcept;  // NOLINT(google-explicit-constructor)

  map::canonical form;
  kernels::op math{};     // of a problem that computes
  bool computes = false;  // math changes elements, or there is a second destination
  bool in_place = false;
  int alignment = 1;  // of pointers to elements: the largest power of two that divides the larger element, up to 16
};

// One canonical form of the problem and its kernel. All addresses of index 0 must be multiples of `alignment`.
struct gpu_variant {
  map::canonical form;
  kernels::offer chosen;                                     // for a rectangle in place: only row and reason
  std::shared_ptr<const planning::gpu_rectangle> rectangle;  // null: `chosen` is the whole choice
  int alignment = 16;
  bool tuned = false;  // tune() chose it, not the predicted times
};

// A plan does not know the pointers of its calls, so it has a variant for multiples of 16 bytes, one for multiples of a word if words
// are longer than elements, and one for multiples of work::alignment. For other pointers a call makes a variant of its own, which
// only allocates for a rectangle in place.
struct gpu_plan {
  std::vector<gpu_variant> variants;  // the most aligned one first

  [[nodiscard]] const gpu_variant& aligned() const noexcept { return variants.front(); }
  // The pointers may be less aligned than the result.
  [[nodiscard]] const gpu_variant& for_alignment(int alignment) const noexcept {
    for (const gpu_variant& one : variants) {
      if (alignment >= one.alignment) return one;
    }
    return variants.back();
  }
};

// kernel: forces this row; empty: the cheapest offer wins.
// Returns chosen.row null if the row does not accept the problem
[[nodiscard]] gpu_variant choose_variant(const work& what, const kernels::gpu_traits& on, int alignment,
                                         std::string_view kernel);
[[nodiscard]] gpu_plan choose_variants(const work& what, const kernels::gpu_traits& on, std::string_view kernel);

// Returns the bytes that the problem in place needs on any GPU, with that row (empty: with each)
[[nodiscard]] std::int64_t workspace_on_gpu(const work& what, std::string_view kernel);

// Effect  calls take(offer) for each row that accepts the problem, with words of the row's own size where the problem has longer
//         ones. A rectangle in place has no offers: it runs several kernels
void each_gpu_offer(const work& what, const kernels::gpu_traits& on, int alignment,
                    const std::function<void(const kernels::offer&)>& take);

// Returns all offers for the variant, cheapest first
[[nodiscard]] std::vector<kernels::offer> offers_of(const work& what, const gpu_variant& variant,
                                                    const kernels::target& on);

// 2. A launch.

// The arrays of one call on a GPU: the pointers that plan::execute takes.
struct gpu_arrays {
  const void* src = nullptr;
  void* dst = nullptr;
  void* second = nullptr;        // second source or destination; dst itself if beta applies to dst
  const float* scale = nullptr;  // read by the kernel
};

// Returns the largest power of two, up to 16, that divides all addresses of index 0, but at least the larger element size if each
//         address is a multiple of its own element size
[[nodiscard]] int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept;

// The arguments of a launch, for kernels::launch_function.
class launch_arguments {
 public:
  // flags: all 0, for kernels whose blocks signal each other; else null
  launch_arguments(const map::canonical& form, const kernels::offer& chosen, const gpu_arrays& all,
                   std::uint32_t* flags = nullptr) noexcept;
  [[nodiscard]] const void* get() const noexcept { return bytes_; }

 private:
  alignas(16) std::byte bytes_[kernels::max_args_bytes];
};

// Effect  starts the kernel of a variant that is no rectangle in place. A block gets at least `shared_bytes` of shared memory: that
//         limits the blocks of a multiprocessor
// Returns null, or the driver's message
[[nodiscard]] const char* start(const gpu_variant& variant, const gpu_arrays& all, void* stream,
                                int shared_bytes = 0) noexcept;

// One problem of several that a launch starts together.
struct gpu_part {
  const gpu_variant* how = nullptr;
  gpu_arrays arrays;
};
// Returns the row that starts several problems of this row in one launch; null: there is none
[[nodiscard]] const kernels::kernel* alternating_row(const kernels::kernel& row);
// Returns the problems that one launch takes at most, for offers with so many bytes of arguments
[[nodiscard]] std::size_t most_parts(const kernels::offer& one) noexcept;
// Effect  starts several problems in one launch, whose blocks alternate
// Requires  all are of one row that has `row`, and are not more than most_parts; together at most 2^31 - 1 blocks
// Returns null, or the driver's message
[[nodiscard]] const char* start_alternating(const kernels::kernel& row, std::span<const gpu_part> parts,
                                            void* stream) noexcept;

// Effect  starts all kernels of a rectangle in place; data points at index 0. With an empty workspace, it allocates one in the
//         stream
// Returns null, or the driver's message
// Errors  out_of_memory
[[nodiscard]] const char* start_rectangle(const planning::gpu_rectangle& all, std::byte* data,
                                          std::span<std::byte> workspace, void* stream);

// Effect  calls launch(move, from, to, flags) for each step in order, and clear(flags, bytes) before a step with flags
// Returns null, or the message of the first call that fails; no call follows it
template <class Launch, class Clear>
const char* run_rectangle(const planning::gpu_rectangle& all, std::byte* data, std::byte* workspace,
                          const Launch& launch, const Clear& clear) {
  const auto above = reinterpret_cast<std::uintptr_t>(workspace) % planning::workspace_alignment;
  if (above != 0) workspace += planning::workspace_alignment - above;
  for (const planning::gpu_program& program : all.programs) {
    kernels::cpu::odometer at(program.repeat, 1, 0, false);
    for (std::int64_t repeat = 0; repeat < program.repeat.total; ++repeat, at.next()) {
      std::byte* const array = data + program.begin + at.src();
      for (const planning::gpu_step& step : program.steps) {
        const planning::gpu_move& move = all.moves[static_cast<std::size_t>(step.move)];
        auto* const flags = reinterpret_cast<std::uint32_t*>(workspace + step.flags_at);
        const char* message = move.flags() == 0 ? nullptr : clear(flags, 4 * move.flags());
        if (message != nullptr) return message;
        message = launch(move, (step.from_workspace ? workspace : array) + step.from,
                         (step.to_workspace ? workspace : array) + step.to, flags);
        if (message != nullptr) return message;
      }
    }
  }
  return nullptr;
}

}  // namespace cornerturn::running
