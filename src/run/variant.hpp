// Which kernels run a problem on a GPU: a variant for pointers of one alignment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "cornerturn/problem.hpp"
#include "kernels/gpu/traits.hpp"
#include "map/canonical.hpp"
#include "plan/rectangle_gpu.hpp"

namespace cornerturn::running {

// A checked problem: what a plan knows before it knows a device.
struct work {
  // form: map::canonicalize(what)
  work(const problem& what, const map::canonical& form) noexcept;
  work(const problem& what) noexcept : work(what, map::canonicalize(what)) {}  // NOLINT(google-explicit-constructor)

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

// A plan does not know the pointers of its calls, so it has two variants. `aligned`: the pointers are multiples of 16 bytes.
// `element_aligned`: they are multiples of work::alignment. For other pointers a call makes a variant of its own, which only
// allocates for a rectangle in place.
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

}  // namespace cornerturn::running
