// A plan on a GPU, and a call there:
//   1. the plan of a device: run/launch.cpp chooses a kernel for each alignment of pointers
//   2. a call: takes the variant for the alignment of its pointers; run/launch.cpp launches it
//   3. the errors of a GPU
// plan.cpp calls gpu_plan_for() for 1, and execute_on_gpu() or compute_on_gpu() for 2.
#include "api/gpu_plan.hpp"

#include <memory>

#include "api/device.hpp"
#include "api/plan_state.hpp"
#include "cornerturn/error.hpp"
#include "plan/choose.hpp"
#include "run/launch.hpp"

namespace cornerturn::detail {

// 1. The plan of a device.

namespace {

void check_number(int device) {
  if (device < gpu::most_devices) return;
  throw error(status::device_error, "the memory is of GPU " + std::to_string(device) + ". Wanted: one of the first " +
                                        std::to_string(gpu::most_devices) + " GPUs of the process");
}

}  // namespace

// Several threads may make the plan concurrently; the first stored plan is kept.
const running::gpu_plan* plan_state::gpu_plan_for(int device) const {
  check_number(device);
  std::atomic<const running::gpu_plan*>& slot = gpu_plans_[device];
  if (const running::gpu_plan* known = slot.load(std::memory_order_acquire); known != nullptr) return known;
  auto made = std::make_unique<const running::gpu_plan>(make_gpu_plan(device));
  const running::gpu_plan* before = nullptr;
  if (!slot.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) return before;
  return made.release();
}

running::gpu_plan plan_state::make_gpu_plan(int device) const {
  const running::work work(what_);
  running::gpu_plan made = running::choose_variants(work, gpu::info(device).traits, kernel_);
  for (running::gpu_variant& variant : made.variants) {
    if (findings_ == findings::ignore || computes_) break;
    const api::tuned_row known = api::find_tuned(key_on_gpu(device, variant.alignment));
    if (known.kernel == nullptr) continue;
    running::gpu_variant found =
        running::choose_variant(work, gpu::info(device).traits, variant.alignment, known.kernel);
    if (found.chosen.row == nullptr) continue;
    variant = found;
    variant.tuned = true;
  }
  if (made.aligned().chosen.row == nullptr) {
    if (!kernel_.empty()) refuse_kernel(kernel_);
    check_fits(made.aligned());
  }
  for (const running::gpu_variant& variant : made.variants) check_loaded(device, variant);
  return made;
}

api::tuned_key plan_state::key_on_gpu(int device, int alignment) const {
  return {.form = &gpu_form_, .align = alignment, .limit = 0, .machine = gpu::info(device).name};
}

// 2. A call.

void plan_state::execute_on_gpu(int device, const void* src, void* dst, void* stream,
                                std::span<std::byte> workspace) const {
  const gpu::device_guard guard(device);
  running::gpu_variant made;
  const running::gpu_variant& variant = variant_of_call(device, alignment_of(src, dst), made);
  const char* message = nullptr;
  if (variant.rectangle == nullptr) {
    message = running::start(variant, {.src = src, .dst = dst}, stream);
  } else {
    check_workspace_of(workspace, variant.rectangle->workspace_bytes, dst);
    if (!workspace.empty()) api::check_access(device, "workspace", gpu::where(workspace.data()));
    message =
        running::start_rectangle(*variant.rectangle, static_cast<std::byte*>(dst) + dst_start_, workspace, stream);
  }
  check_launched(message, device, variant.chosen.row->name);
}

void plan_state::compute_on_gpu(int device, const operands& all, void* stream) const {
  const gpu::device_guard guard(device);
  running::gpu_arrays arrays = {.src = all.src, .dst = all.dst, .scale = all.scale};
  if (math_.reads_second()) {
    // const_cast: the kernel only reads this array.
    arrays.second = what_.math.second == second_array::source ? const_cast<void*>(all.second) : all.dst;
  } else if (math_.second == second_array::destination) {
    arrays.second = all.second_dst;
  }
  running::gpu_variant made;
  const running::gpu_variant& variant = variant_of_call(device, running::alignment_of(gpu_form_, arrays), made);
  check_launched(running::start(variant, arrays, stream), device, variant.chosen.row->name);
}

namespace {

[[noreturn]] void refuse_alignment(const std::string& kernel, int alignment) {
  throw error(status::invalid_argument, "kernel is \"" + kernel +
                                            "\", which does not accept this problem with pointers that are " +
                                            "multiples of only " + std::to_string(alignment) + " bytes");
}

}  // namespace

// The stored variant for pointers of this alignment, or one that is made for this call alone, in `made`.
const running::gpu_variant& plan_state::variant_of_call(int device, int alignment, running::gpu_variant& made) const {
  const running::gpu_plan& known = *gpu_plan_for(device);
  const running::gpu_variant* variant = &known.for_alignment(alignment);
  if (alignment < variant->alignment) {
    made = running::choose_variant(what_, gpu::info(device).traits, alignment, kernel_);
    variant = &made;
    check_loaded(device, *variant);
  }
  if (variant->chosen.row == nullptr) refuse_alignment(kernel_, alignment);
  return *variant;
}

const running::gpu_variant& plan_state::variant_for(int device, const void* src, const void* dst) const {
  return gpu_plan_for(device)->for_alignment(alignment_of(src, dst));
}

int plan_state::alignment_of(const void* src, const void* dst) const noexcept {
  return running::alignment_of(gpu_form_, {.src = src, .dst = const_cast<void*>(dst)});
}

// 3. The errors of a GPU.

void check_loaded(int device, const kernels::kernel& row) {
  const char* const message = gpu::load(row, device);
  if (message == nullptr) return;
  const gpu::device_info& on = gpu::info(device);
  throw error(status::device_error, "the kernels do not load on GPU " + std::to_string(device) + " (" + on.name + ", " +
                                        on.arch + "): " + message);
}

void check_loaded(int device, const running::gpu_variant& variant) {
  if (variant.rectangle != nullptr) {
    for (const planning::gpu_move& move : variant.rectangle->moves) check_loaded(device, *move.chosen.row);
  } else if (variant.chosen.row != nullptr) {
    check_loaded(device, *variant.chosen.row);
  }
}

void check_fits(const running::gpu_variant& variant) {
  if (variant.chosen.row != nullptr) return;
  if (!planning::fits_address_space(variant.form)) {
    throw error(status::overflow, "the problem spans more than " + std::to_string(planning::widest_span_bytes) +
                                      " bytes, which no GPU can address");
  }
  throw error(status::overflow, "the problem needs more thread blocks than a GPU's grid allows (2^31 - 1)");
}

void check_launched(const char* message, int device, const char* kernel) {
  if (message == nullptr) return;
  gpu::clear_error();
  throw error(status::device_error,
              std::string("GPU ") + std::to_string(device) + " did not start " + kernel + ": " + message);
}

}  // namespace cornerturn::detail
