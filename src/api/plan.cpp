// plan: check -> canonicalise -> choose. execute.cpp runs it.
#include "cornerturn/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

#include "api/check.hpp"
#include "api/device.hpp"
#include "api/plan_state.hpp"
#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn {
namespace detail {
namespace {

// Returns the device of the row that options.kernel names, or `on` without such a name.
device device_of(device on, const char* kernel) {
  if (kernel == nullptr) return on;
  const kernels::kernel* const row = kernels::find(kernel);
  if (row == nullptr) {
    throw error(status::invalid_argument,
                "kernel is \"" + std::string(kernel) + "\", which is not a row of kernels.inc");
  }
  const device its = kernels::is_of_gpu(*row) ? device::cuda : device::cpu;
  if (on != device::automatic && on != its) {
    throw error(status::invalid_argument, "kernel is \"" + std::string(kernel) + "\", which is a " + row->backend +
                                              " kernel, but the device is " + api::name(on));
  }
  return its;
}

[[noreturn]] void refuse_kernel(const std::string& kernel) {
  throw error(status::invalid_argument, "kernel is \"" + kernel + "\", which does not accept this problem");
}

}  // namespace

plan_state::plan_state(const problem& what, const plan_options& options, findings tune_results)
    : what_(what),
      on_(device_of(options.on, options.kernel)),
      kernel_(options.kernel == nullptr ? "" : options.kernel),
      findings_(options.kernel == nullptr ? tune_results : findings::ignore),
      parallel_(options.parallel) {
  api::check(what);
  api::check_device(on_, options.threads);
  computes_ = !map::only_moves(what);
  math_ = kernels::op_of(what.math, what.element_bytes);
  form_ = map::canonicalize(what);
  src_span_ = map::src_span(form_);
  dst_span_ = map::dst_span(form_);
  src_start_ = form_.src_offset * form_.word_bytes;
  dst_start_ = form_.dst_offset * form_.dst_word_bytes;
  second_start_ = form_.second_offset * form_.dst_word_bytes;
  map::in_place_form permutation;
  if (what.in_place) api::check_in_place(what, permutation = map::in_place(form_));
  if (on_ == device::cuda) {
    device_ = std::max(gpu::current_device(), 0);
    static_cast<void>(gpu_plan_for(device_));
    return;
  }
  const int threads = options.threads == 0 ? base::default_threads() : options.threads;
  if (what.in_place) {
    in_place_ =
        planning::choose_in_place(form_, permutation, {.threads = threads, .kernel = kernel_}, base::this_machine());
    if (in_place_->kernel == nullptr) refuse_kernel(kernel_);
  } else {
    choose_for_cpu(threads);
    prepare_fast_path();
  }
  if (on_ != device::automatic) return;
  // If this process uses a GPU already, its plan is made here, so that later calls need not make it.
  if (const int device = gpu::device_in_use(); device >= 0 && gpu::load_kernels(device) == nullptr) {
    try {
      static_cast<void>(gpu_plan_for(device));
    } catch (const error&) {
      // The CPU may accept a problem that no GPU kernel accepts. execute() reports it for pointers to GPU memory.
    }
  }
}

plan_state::~plan_state() {
  for (auto& slot : gpu_plans_) delete slot.load(std::memory_order_relaxed);
}

void plan_state::choose_for_cpu(int threads) {
  if (findings_ == findings::use && !computes_) {
    if (const api::tuned_row known = api::find_tuned(key_on_cpu(threads)); known.kernel != nullptr) {
      const int limited = std::clamp(known.threads, 1, threads);
      chosen_ = planning::choose(form_, {.threads = limited, .kernel = known.kernel}, base::this_machine());
      tuned_ = chosen_.row != nullptr;
      if (tuned_) return;
    }
  }
  chosen_ = planning::choose(form_, {.threads = threads, .kernel = kernel_, .math = computes_ ? &math_ : nullptr},
                             base::this_machine());
  if (chosen_.row == nullptr) refuse_kernel(kernel_);
}

void plan_state::prepare_fast_path() noexcept {
  if (computes_ || form_.empty || chosen_.threads != 1) return;
  fast_path_.run = chosen_.row->run;
  fast_path_.units = chosen_.units;
  const auto bytes = [](const map::byte_span& span) { return static_cast<std::uint64_t>(span.hi - span.lo); };
  fast_path_.lowest = static_cast<std::uint64_t>(src_span_.lo) - static_cast<std::uint64_t>(dst_span_.hi) + 1;
  fast_path_.overlap_bytes = bytes(src_span_) + bytes(dst_span_) - 1;
}

gpu_plan plan_state::make_gpu_plan(int device) const {
  check_loaded(device);
  gpu_plan made = choose_variants(what_, gpu::info(device), kernel_);
  for (gpu_variant* variant : {&made.aligned, &made.element_aligned}) {
    if (findings_ == findings::ignore || computes_) break;
    const api::tuned_row known = api::find_tuned(key_on_gpu(device, variant->alignment));
    if (known.kernel == nullptr) continue;
    gpu_variant found = choose_variant(what_, gpu::info(device), variant->alignment, known.kernel);
    if (found.chosen.row == nullptr) continue;
    *variant = found;
    variant->tuned = true;
  }
  if (made.aligned.chosen.row == nullptr) {
    if (!kernel_.empty()) refuse_kernel(kernel_);
    check_fits(made.aligned);
  }
  return made;
}

// Several threads may make the plan concurrently; the first stored plan is kept.
const gpu_plan* plan_state::gpu_plan_for(int device) const {
  if (device >= gpu::most_devices) check_loaded(device);  // throws
  std::atomic<const gpu_plan*>& slot = gpu_plans_[device];
  if (const gpu_plan* known = slot.load(std::memory_order_acquire); known != nullptr) return known;
  auto made = std::make_unique<const gpu_plan>(make_gpu_plan(device));
  const gpu_plan* before = nullptr;
  if (!slot.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) return before;
  return made.release();
}

const char* plan_state::kernel() const noexcept {
  if (in_place_) return in_place_->kernel->name;
  if (!on_gpu_only()) return chosen_.row->name;
  return gpu_plans_[device_].load(std::memory_order_acquire)->aligned.chosen.row->name;
}

std::int64_t plan_state::bytes_moved() const noexcept {
  std::int64_t bytes = INT64_MAX;  // if the product overflows
  const std::int64_t of_src = math_.reads_src() ? form_.word_bytes : 0;
  const std::int64_t of_dst = form_.dst_word_bytes * (math_.second == second_array::none ? 1 : 2);
  static_cast<void>(base::checked_mul(of_src + of_dst, map::words(form_), bytes));
  return bytes;
}

api::tuned_key plan_state::key_on_cpu(int threads) const {
  return {.form = &form_, .align = 0, .limit = threads, .machine = base::this_machine().cpu_model};
}

api::tuned_key plan_state::key_on_gpu(int device, int alignment) const {
  return {.form = &form_, .align = alignment, .limit = 0, .machine = gpu::info(device).name};
}

int plan_state::alignment_of(const void* src, const void* dst) const noexcept {
  return detail::alignment_of(form_, reinterpret_cast<std::uintptr_t>(src), reinterpret_cast<std::uintptr_t>(dst));
}

const gpu_variant& plan_state::variant_for(int device, const void* src, const void* dst) const {
  return gpu_plan_for(device)->for_alignment(alignment_of(src, dst));
}

std::int64_t plan_state::workspace_bytes() const noexcept {
  if (!what_.in_place) return 0;
  std::int64_t most = in_place_ ? in_place_->workspace_bytes : 0;
  for (const auto& one : gpu_plans_) {
    const gpu_plan* on_device = one.load(std::memory_order_acquire);
    if (on_device != nullptr && on_device->aligned.rectangle != nullptr) {
      most = std::max(most, on_device->aligned.rectangle->workspace_bytes);
    }
  }
  return most;
}

}  // namespace detail

plan::plan(const problem& what, const plan_options& options) try
    : state_(std::make_shared<const detail::plan_state>(what, options)) {
} catch (const std::bad_alloc&) {
  throw error(status::out_of_memory, "no memory for a plan");
}

std::string plan::explain() const { return state_->explain(); }
const char* plan::kernel() const noexcept { return state_->kernel(); }
int plan::threads() const noexcept { return state_->threads(); }
std::int64_t plan::bytes_moved() const noexcept { return state_->bytes_moved(); }
std::int64_t plan::workspace_bytes() const noexcept { return state_->workspace_bytes(); }

}  // namespace cornerturn
