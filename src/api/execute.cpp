// plan::execute: checks the pointers of a call, finds their device and starts the kernel there.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "api/apply.hpp"
#include "api/device.hpp"
#include "api/plan_state.hpp"
#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn {
namespace detail {
namespace {

[[noreturn]] void refuse_alignment(const std::string& kernel, int alignment) {
  throw error(status::invalid_argument, "kernel is \"" + kernel +
                                            "\", which does not accept this problem with pointers that are " +
                                            "multiples of only " + std::to_string(alignment) + " bytes");
}

void check_size(std::span<std::byte> workspace, std::int64_t wanted) {
  if (static_cast<std::int64_t>(workspace.size()) >= wanted) return;
  throw error(status::invalid_argument, "workspace has " + std::to_string(workspace.size()) + " bytes, wanted " +
                                            std::to_string(wanted) + " or more");
}

}  // namespace

bool plan_state::try_fast_path(const void* src, void* dst) const {
  const std::uint64_t distance = reinterpret_cast<std::uintptr_t>(dst) - reinterpret_cast<std::uintptr_t>(src);
  const bool valid = src != nullptr && dst != nullptr && distance - fast_path_.lowest >= fast_path_.overlap_bytes;
  if (fast_path_.run == nullptr || !valid || gpu::driver_is_loaded()) return false;
  fast_path_.run(
      chosen_.args,
      {.src = static_cast<const std::byte*>(src) + src_start_, .dst = static_cast<std::byte*>(dst) + dst_start_}, 0,
      fast_path_.units);
  return true;
}

int plan_state::device_of_call(const void* src, const void* dst) const {
  if (form_.empty) return api::on_cpu;
  if (src == nullptr || dst == nullptr) {
    throw error(status::invalid_argument,
                std::string(src == nullptr ? "src" : "dst") + " is null, but the problem is not empty");
  }
  check_overlap(src, dst);
  if (on_ != device::cuda && !gpu::driver_is_loaded()) return api::on_cpu;
  // Query the first accessed byte: with negative strides the pointer itself may be outside of its allocation.
  const gpu::location from = gpu::where(static_cast<const std::byte*>(src) + src_span_.lo);
  const gpu::location to = gpu::where(static_cast<const std::byte*>(dst) + dst_span_.lo);
  const int device = api::device_of_call(on_, from, to);
  return device == api::on_current_gpu ? std::max(gpu::current_device(), 0) : device;
}

void plan_state::check_operands(const operands& all) const {
  api::check_operands(all, what_.math);
  if (!form_.empty && computes_) api::check_overlap_of_second(all, math_, form_);
}

void plan_state::execute(const operands& all, void* stream) const {
  check_operands(all);
  if (!computes_) return execute(all.src, all.dst, stream, all.workspace);
  if (form_.empty) return;
  if (const int device = device_of_call(all); device != api::on_cpu) return compute_on_gpu(device, all, stream);
  kernels::arrays arrays = {.src = static_cast<const std::byte*>(all.src) + src_start_,
                            .dst = static_cast<std::byte*>(all.dst) + dst_start_,
                            .scale = all.scale == nullptr ? 1.0F : *all.scale};
  const void* const second = what_.math.second == second_array::source ? all.second : all.dst;
  if (math_.reads_second()) arrays.second = static_cast<const std::byte*>(second) + second_start_;
  if (math_.second == second_array::destination) {
    arrays.second_dst = static_cast<std::byte*>(all.second_dst) + second_start_;
  }
  execute_on_cpu(arrays);
}

void plan_state::execute(const void* src, void* dst, void* stream, std::span<std::byte> workspace) const {
  if (computes_) {
    operands all;
    all.src = src;
    all.dst = dst;
    return execute(all, stream);
  }
  if (form_.empty) return;
  const int device = device_of_call(src, dst);
  if (in_place_ && device == api::on_cpu) return execute_in_place(dst, workspace);
  if (device == api::on_cpu) {
    return execute_on_cpu(
        {.src = static_cast<const std::byte*>(src) + src_start_, .dst = static_cast<std::byte*>(dst) + dst_start_});
  }
  execute_on_gpu(device, src, dst, stream, workspace);
}

// The device of src and dst must be able to access every other array.
int plan_state::device_of_call(const operands& all) const {
  const int device = device_of_call(all.src, all.dst);
  const auto check = [&](const char* what, const void* at, std::int64_t lo) {
    if (at == nullptr || (device == api::on_cpu && !gpu::driver_is_loaded())) return;
    api::check_access(device, what, gpu::where(static_cast<const std::byte*>(at) + lo));
  };
  const std::int64_t lo = map::second_span(form_).lo;
  if (math_.reads_second()) check("second", all.second, lo);
  check("second_dst", all.second_dst, lo);
  check("scale", all.scale, 0);
  return device;
}

// The stored variant for pointers of this alignment, or one that is made for this call alone, in `made`.
const gpu_variant& plan_state::variant_of_call(int device, int alignment, gpu_plan& made) const {
  const gpu_plan& known = *gpu_plan_for(device);
  const gpu_variant* variant = &known.for_alignment(alignment);
  if (alignment < variant->alignment) {
    made.aligned = choose_variant(what_, gpu::info(device), alignment, kernel_);
    variant = &made.aligned;
  }
  if (variant->chosen.row == nullptr) refuse_alignment(kernel_, alignment);
  return *variant;
}

void plan_state::execute_on_gpu(int device, const void* src, void* dst, void* stream,
                                std::span<std::byte> workspace) const {
  const gpu::device_guard guard(device);
  gpu_plan made;
  const gpu_variant& variant = variant_of_call(device, alignment_of(src, dst), made);
  const char* const message =
      variant.rectangle == nullptr
          ? start(variant, src_span_, src, dst, stream)
          : start_rectangle(device, *variant.rectangle, static_cast<std::byte*>(dst) + dst_start_, workspace, stream);
  check_start(message, device, variant.chosen.row->name);
}

const char* plan_state::start_rectangle(int device, const planning::gpu_rectangle& all, std::byte* data,
                                        std::span<std::byte> workspace, void* stream) const {
  if (!workspace.empty()) {
    check_size(workspace, all.workspace_bytes);
    api::check_access(device, "workspace", gpu::where(workspace.data()));
    return start(all, data, workspace.data(), stream);
  }
  void* const own = gpu::allocate(all.workspace_bytes, stream);
  if (own == nullptr) {
    throw error(status::out_of_memory, "no memory on GPU " + std::to_string(device) + " for a workspace of " +
                                           std::to_string(all.workspace_bytes) + " bytes");
  }
  const char* const message = start(all, data, static_cast<std::byte*>(own), stream);
  gpu::release(own, stream);
  return message;
}

void plan_state::compute_on_gpu(int device, const operands& all, void* stream) const {
  const gpu::device_guard guard(device);
  gpu_arrays arrays = {.src = static_cast<const std::byte*>(all.src) + src_start_,
                       .dst = static_cast<std::byte*>(all.dst) + dst_start_,
                       .scale = all.scale};
  if (math_.reads_second()) {
    // const_cast: the kernel only reads this array.
    void* const second = what_.math.second == second_array::source ? const_cast<void*>(all.second) : all.dst;
    arrays.second = static_cast<std::byte*>(second) + second_start_;
  } else if (math_.second == second_array::destination) {
    arrays.second = static_cast<std::byte*>(all.second_dst) + second_start_;
  }
  gpu_plan made;
  const gpu_variant& variant = variant_of_call(device, detail::alignment_of(form_, arrays), made);
  check_start(start(variant, arrays, stream), device, variant.chosen.row->name);
}

void plan_state::check_overlap(const void* src, const void* dst) const {
  const auto src_at = reinterpret_cast<std::uintptr_t>(src);
  const auto dst_at = reinterpret_cast<std::uintptr_t>(dst);
  if (what_.in_place) {
    if (src == dst) return;
    throw error(status::invalid_argument, "the problem is in place, but dst - src is " +
                                              std::to_string(static_cast<std::int64_t>(dst_at - src_at)) +
                                              " bytes. Wanted: one pointer for both");
  }
  api::check_apart(src, dst, src_span_, dst_span_, ". To run in place, set in_place in the problem");
}

void plan_state::execute_on_cpu(const kernels::arrays& all) const {
  if (chosen_.threads == 1) return chosen_.row->run(chosen_.args, all, 0, chosen_.units);

  struct team {
    const plan_state* self;
    const kernels::arrays& all;
  } together{this, all};
  const auto body = [](void* argument, int task) {
    const team& mine = *static_cast<team*>(argument);
    const kernels::offer& chosen = mine.self->chosen_;
    const std::int64_t units = chosen.units;
    // A static share: consecutive units, and task sizes differ by at most one.
    const std::int64_t begin = units / chosen.threads * task + std::min<std::int64_t>(task, units % chosen.threads);
    const std::int64_t end = begin + units / chosen.threads + (task < units % chosen.threads ? 1 : 0);
    chosen.row->run(chosen.args, mine.all, begin, end);
  };
  base::parallel_for(parallel_, chosen_.threads, body, &together);
}

void plan_state::execute_in_place(void* data, std::span<std::byte> workspace) const {
  const std::int64_t wanted = in_place_->workspace_bytes;
  std::byte* const at = static_cast<std::byte*>(data) + dst_start_;
  if (!workspace.empty()) check_size(workspace, wanted);
  if (!workspace.empty() || wanted == 0) return api::run_in_place(*in_place_, at, workspace.data(), parallel_);
  struct release {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  // Uninitialized: the threads that use the pages touch them first.
  const std::unique_ptr<std::byte, release> own(
      static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(base::ceil_div(wanted, 4096) * 4096))));
  if (own == nullptr) {
    throw error(status::out_of_memory, "no memory for a workspace of " + std::to_string(wanted) + " bytes");
  }
  api::run_in_place(*in_place_, at, own.get(), parallel_);
}

}  // namespace detail

void plan::execute(const void* src, void* dst, void* stream) const {
  if (!state_->try_fast_path(src, dst)) state_->execute(src, dst, stream);
}
void plan::execute(const void* src, void* dst, std::span<std::byte> workspace, void* stream) const {
  if (state_->try_fast_path(src, dst)) return;
  if (workspace.empty()) detail::check_size(workspace, state_->workspace_bytes());
  state_->execute(src, dst, stream, workspace);
}
void plan::execute(const operands& all, void* stream) const { state_->execute(all, stream); }

}  // namespace cornerturn
