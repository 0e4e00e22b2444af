// The calls of all devices, and the whole way of a transpose on the CPU:
//   1. the public calls: a one-line call finds its plan in a cache (plan_cache.hpp), or makes it
//   2. a new plan checks the problem, brings it to canonical form and chooses a kernel
//   3. execute() checks the pointers and finds their device
//   4. the CPU's kernel runs, on one thread or on several. The fast path of 3 starts it at once if it needs one thread
//   5. the properties of a plan
// gpu_plan.cpp has the calls on a GPU, in_place.cpp those in place on the CPU. run/ launches the kernels.
#include "cornerturn/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "api/apply.hpp"
#include "api/check.hpp"
#include "api/device.hpp"
#include "api/guard.hpp"
#include "api/plan_cache.hpp"
#include "api/plan_state.hpp"
#include "base/checked.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/transpose.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn {

// 1. The public calls.

namespace {

bool moves_alone(const operands& all) noexcept {
  return all.second == nullptr && all.second_dst == nullptr && all.scale == nullptr && all.workspace.empty();
}

void run(const detail::plan_state& how, const operands& all, void* stream) {
  if (!moves_alone(all) || !how.try_fast_path(all.src, all.dst, stream)) how.execute(all, stream);
}

}  // namespace

void execute(const problem& what, const void* src, void* dst, void* stream) {
  api::guarded([&] {
    const api::held_plan how = api::find_plan({.what = what});
    if (!how->try_fast_path(src, dst, stream)) how->execute(src, dst, stream);
  });
}

void execute(const problem& what, const operands& all, void* stream) { execute(what, all, plan_options{}, stream); }

void execute(const problem& what, const operands& all, const plan_options& options, void* stream) {
  api::guarded([&] {
    if (options.kernel != nullptr || options.parallel.run != nullptr || options.parallel.is_cancelled != nullptr) {
      return plan(what, options).execute(all, stream);
    }
    run(*api::find_plan(
            {.what = what, .device = options.device, .threads = options.threads, .measure = options.measure}),
        all, stream);
  });
}

plan::plan(const problem& what, const plan_options& options)
    : state_(api::guarded([&] { return std::make_shared<const detail::plan_state>(what, options); })) {}

void plan::execute(const void* src, void* dst, void* stream) const {
  api::guarded([&] {
    if (!state_->try_fast_path(src, dst, stream)) state_->execute(src, dst, stream);
  });
}
void plan::execute(const void* src, void* dst, std::span<std::byte> workspace, void* stream) const {
  api::guarded([&] {
    const bool is_null = workspace.data() == nullptr && !workspace.empty();  // execute refuses it
    if (!is_null && state_->try_fast_path(src, dst, stream)) return;
    if (workspace.empty()) {
      const bool on_cpu = state_->device_of_call(src, dst) == api::on_cpu;
      detail::check_workspace(workspace, state_->workspace_bytes(on_cpu ? device::cpu : api::gpu_backend));
    }
    state_->execute(src, dst, stream, workspace);
  });
}
void plan::execute(const operands& all, void* stream) const {
  api::guarded([&] { run(*state_, all, stream); });
}

namespace detail {

// 2. A new plan.

namespace {

// Returns the device of the row that options.kernel names, or `on` without such a name.
device device_of(device on, const char* kernel) {
  if (kernel == nullptr) return on;
  const kernels::kernel* const row = kernels::find(kernel);
  if (row == nullptr) {
    throw error(status::invalid_argument,
                "kernel is \"" + std::string(kernel) +
                    "\", which is not the name of a kernel. Wanted: a name that `cornerturn kernels` lists");
  }
  const device its = api::backend_of(*row);
  if (on != device::automatic && on != its) {
    throw error(status::invalid_argument, "kernel is \"" + std::string(kernel) + "\", which is a " + api::name(its) +
                                              " kernel, but the device is " + api::name(on) + ". Wanted: a kernel of " +
                                              api::name(on));
  }
  return its;
}

}  // namespace

plan_state::plan_state(const problem& what, const plan_options& options, findings tune_results)
    : plan_state(what, options, tune_results, kernels::this_machine()) {}

plan_state::plan_state(const problem& what, const plan_options& options, findings tune_results, const base::machine& on)
    : what_(what),
      on_(device_of(options.device, options.kernel)),
      kernel_(options.kernel == nullptr ? "" : options.kernel),
      findings_(options.kernel == nullptr ? tune_results : findings::ignore),
      cpu_(on),
      parallel_(options.parallel) {
  api::check(what);  // fields are in range, bytes fit 63 bits, math is supported, elements of dst share no address
  api::check_device(on_, options.threads);
  computes_ = !map::only_moves(what);
  math_ = kernels::op_of(what.math, what.element_bytes);
  // Example: float32, rows x cols. Words have 4 bytes. The axes {extent, src stride, dst stride} are {cols, 1, rows},
  // {rows, cols, 1}: the largest dst stride is first. On a GPU the alignment of the pointers limits the words.
  form_ = map::canonicalize(what);
  gpu_form_ = map::canonicalize(what, 16, map::gpu_line_bytes);
  src_span_ = map::src_span(form_);
  dst_span_ = map::dst_span(form_);
  src_start_ = form_.src_offset * form_.word_bytes;
  dst_start_ = form_.dst_offset * form_.dst_word_bytes;
  second_start_ = form_.second_offset * form_.dst_word_bytes;
  map::in_place_form permutation;
  if (what.in_place) api::check_in_place(what, permutation = map::in_place(form_));
  if (on_gpu_only()) {
    device_ = std::max(gpu::current_device(), 0);
    static_cast<void>(gpu_plan_for(device_));
    return;
  }
  // `automatic` makes a CPU plan now, and a GPU plan now or at the first call with pointers to that GPU's memory.
  // execute() takes the plan for its pointers.
  const int threads = base::threads_of_call(options.threads);
  if (what.in_place) {
    in_place_ = planning::choose_in_place(form_, permutation, {.threads = threads, .kernel = kernel_}, cpu_);
    if (in_place_->kernel == nullptr) refuse_kernel(kernel_);
  } else {
    choose_for_cpu(threads, options.measure);
  }
  prepare_fast_path();
  if (on_ != device::automatic) return;
  // If this process uses a GPU already, its plan is made now, so that later calls need not make it.
  if (const int device = gpu::device_in_use(); device >= 0) {
    try {
      static_cast<void>(gpu_plan_for(device));
    } catch (const error&) {
      // The CPU may accept a problem that no GPU kernel accepts, and kernels may not load on this GPU. execute() reports it for
      // pointers to GPU memory.
    }
  }
}

plan_state::~plan_state() {
  for (auto& slot : gpu_plans_) delete slot.load(std::memory_order_relaxed);
}

void plan_state::choose_for_cpu(int threads, bool measure) {
  if (findings_ == findings::use && !computes_) {
    if (const api::tuned_row known = api::find_tuned(key_on_cpu(threads)); known.kernel != nullptr) {
      const int limited = std::clamp(known.threads, 1, threads);
      chosen_ = planning::choose(form_, {.threads = limited, .kernel = known.kernel}, cpu_);
      tuned_ = chosen_.row != nullptr;
      if (tuned_) return;
    }
  }
  chosen_ =
      planning::choose(form_, {.threads = threads, .kernel = kernel_, .math = computes_ ? &math_ : nullptr}, cpu_);
  if (chosen_.row == nullptr) refuse_kernel(kernel_);
  // Smaller problems take less than 50 us: their calls are too short for the clock and the bookkeeping.
  constexpr std::int64_t least_bytes = 1 << 20;
  const bool is_free = kernel_.empty() && findings_ == findings::use && parallel_.run == nullptr &&
                       parallel_.is_cancelled == nullptr && &cpu_ == &kernels::this_machine();
  if (!is_free || computes_ || bytes_moved() < 2 * least_bytes) return;
  if (!measure && base::environment("CORNERTURN_MEASURE") != "1") return;
  std::vector<kernels::offer> likely = running::likely_offers(form_, {.threads = threads}, cpu_);
  if (likely.size() > 1) measured_ = std::make_unique<running::self_measurement>(std::move(likely));
}

void plan_state::prepare_fast_path() noexcept {
  if (computes_ || form_.empty || parallel_.is_cancelled != nullptr) return;
  const kernels::offer* const how = in_place_ ? in_place_->only_step() : &chosen_;
  if (how == nullptr || how->threads != 1 || measured_ != nullptr) return;
  fast_path_.run = how->row->run;
  fast_path_.args = how->args;
  fast_path_.units = how->units;
  fast_path_.src_at = src_start_;
  fast_path_.dst_at = dst_start_;
  if (in_place_) {
    fast_path_.dst_at += in_place_->programs.front().begin;
    fast_path_.lowest = 1;
    fast_path_.overlap_bytes = ~std::uint64_t{0};
    return;
  }
  const auto bytes = [](const map::byte_span& span) { return static_cast<std::uint64_t>(span.hi - span.lo); };
  fast_path_.lowest = static_cast<std::uint64_t>(src_span_.lo) - static_cast<std::uint64_t>(dst_span_.hi) + 1;
  fast_path_.overlap_bytes = bytes(src_span_) + bytes(dst_span_) - 1;
}

void refuse_kernel(const std::string& kernel) {
  const kernels::kernel* const row = kernels::find(kernel);
  const std::string note = row == nullptr ? "" : " (" + std::string(row->note) + ")";
  throw error(status::invalid_argument,
              "kernel is \"" + kernel + "\"" + note +
                  ", which does not accept this problem on this machine. Wanted: a kernel that explain() lists for it");
}

// 3. A call: the checks of its pointers, and their device.

bool plan_state::try_fast_path(const void* src, void* dst, const void* stream) const {
  const std::uint64_t distance = reinterpret_cast<std::uintptr_t>(dst) - reinterpret_cast<std::uintptr_t>(src);
  // The arrays overlap if dst - src is one of the overlap_bytes distances from `lowest` on.
  const bool valid =
      src != nullptr && dst != nullptr && stream == nullptr && distance - fast_path_.lowest >= fast_path_.overlap_bytes;
  if (fast_path_.run == nullptr || !valid || gpu::driver_is_loaded()) return false;
  fast_path_.run(fast_path_.args,
                 {.src = static_cast<const std::byte*>(src) + fast_path_.src_at,
                  .dst = static_cast<std::byte*>(dst) + fast_path_.dst_at},
                 0, fast_path_.units);
  return true;
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
  api::check_stream(device, stream);
  if (in_place_ && device == api::on_cpu) return execute_in_place(dst, workspace);
  if (device == api::on_cpu) {
    return execute_on_cpu(
        {.src = static_cast<const std::byte*>(src) + src_start_, .dst = static_cast<std::byte*>(dst) + dst_start_});
  }
  execute_on_gpu(device, src, dst, stream, workspace);
}

void plan_state::execute(const operands& all, void* stream) const {
  check_operands(all);
  if (!computes_) return execute(all.src, all.dst, stream, all.workspace);
  if (form_.empty) return;
  const int device = device_of_call(all);
  if (device != api::on_cpu) return compute_on_gpu(device, all, stream);
  api::check_stream(device, stream);
  kernels::arrays arrays = {.src = static_cast<const std::byte*>(all.src) + src_start_,
                            .dst = static_cast<std::byte*>(all.dst) + dst_start_,
                            .scale = 1};
  if (all.scale != nullptr) std::memcpy(&arrays.scale, all.scale, sizeof arrays.scale);  // at any address
  const void* const second = what_.math.second == second_array::source ? all.second : all.dst;
  if (math_.reads_second()) arrays.second = static_cast<const std::byte*>(second) + second_start_;
  if (math_.second == second_array::destination) {
    arrays.second_dst = static_cast<std::byte*>(all.second_dst) + second_start_;
  }
  execute_on_cpu(arrays);
}

int plan_state::device_of_call(const void* src, const void* dst) const {
  if (form_.empty) return api::on_cpu;
  if (src == nullptr || dst == nullptr) {
    throw error(status::invalid_argument,
                std::string(src == nullptr ? "src" : "dst") + " is null, but the problem is not empty");
  }
  check_overlap(src, dst);
  if (!on_gpu_only() && !gpu::driver_is_loaded()) return api::on_cpu;
  // Query the first accessed byte: with negative strides the pointer itself may be outside of its allocation.
  const gpu::location from = gpu::where(static_cast<const std::byte*>(src) + src_span_.lo);
  const gpu::location to = gpu::where(static_cast<const std::byte*>(dst) + dst_span_.lo);
  const int device = api::device_of_call(on_, from, to);
  return device == api::on_current_gpu ? std::max(gpu::current_device(), 0) : device;
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
  if (device != api::on_cpu && reinterpret_cast<std::uintptr_t>(all.scale) % alignof(float) != 0) {
    throw error(status::invalid_argument, "scale is at an address that is no multiple of " +
                                              std::to_string(alignof(float)) + ". Wanted on a GPU: an aligned float");
  }
  return device;
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
  api::check_apart(src, dst, src_span_, dst_span_, form_, ". To run in place, set in_place in the problem");
}

void plan_state::check_operands(const operands& all) const {
  api::check_operands(all, what_.math);
  if (!form_.empty && computes_) api::check_overlap_of_second(all, math_, form_);
}

void check_workspace(std::span<std::byte> workspace, std::int64_t wanted) {
  if (workspace.data() == nullptr && !workspace.empty()) {
    throw error(status::invalid_argument,
                "workspace is null, but has " + std::to_string(workspace.size()) + " bytes. Wanted: a pointer to them");
  }
  if (workspace.size() >= static_cast<std::size_t>(wanted)) return;
  throw error(status::invalid_argument, "workspace has " + std::to_string(workspace.size()) + " bytes, wanted " +
                                            std::to_string(wanted) + " or more");
}

void plan_state::check_workspace_of(std::span<std::byte> workspace, std::int64_t wanted, const void* data) const {
  if (workspace.empty()) return;  // the call allocates its own
  check_workspace(workspace, wanted);
  if (wanted == 0) return;  // not used
  const auto bytes = static_cast<std::int64_t>(std::min<std::size_t>(workspace.size(), planning::widest_span_bytes));
  api::check_apart({"workspace", workspace.data(), {0, bytes}}, {"dst", data, dst_span_});
}

// 4. The kernel of the CPU.

void plan_state::execute_on_cpu(const kernels::arrays& all) const {
  if (measured_ == nullptr) return execute_on_cpu(chosen_, all);
  measured_->call([&](const kernels::offer& chosen) { execute_on_cpu(chosen, all); });
}

void plan_state::execute_on_cpu(const kernels::offer& chosen, const kernels::arrays& all) const {
  const bool stops = parallel_.is_cancelled != nullptr;
  if (chosen.threads == 1 && !stops) return chosen.row->run(chosen.args, all, 0, chosen.units);

  constexpr std::int64_t part_bytes = 16 << 20;  // 1 to 5 ms of one thread
  struct team {
    const kernels::offer& chosen;
    const kernels::arrays& all;
    const executor& parallel;
    std::int64_t part;  // units between two questions
  } together{chosen, all, parallel_,
             stops ? std::max<std::int64_t>(1, chosen.units / (bytes_moved() / part_bytes + 1)) : chosen.units};
  const auto body = [](void* argument, std::int64_t begin, std::int64_t end) {
    const team& mine = *static_cast<team*>(argument);
    for (std::int64_t at = begin; at < end; at += mine.part) {
      if (mine.parallel.is_cancelled != nullptr && mine.parallel.is_cancelled(mine.parallel.context)) return;
      mine.chosen.row->run(mine.chosen.args, mine.all, at, std::min(end, at + mine.part));
    }
  };
  base::parallel_for(parallel_, chosen.threads, chosen.units, body, &together);
}

// 5. The properties of a plan.

const char* plan_state::kernel() const noexcept {
  if (in_place_) return in_place_->kernel->name;
  if (!on_gpu_only()) return chosen().row->name;
  return gpu_plans_[device_].load(std::memory_order_acquire)->aligned().chosen.row->name;
}

std::int64_t plan_state::bytes_moved() const noexcept {
  std::int64_t bytes = INT64_MAX;  // if the product overflows
  const std::int64_t of_src = math_.reads_src() ? form_.word_bytes : 0;
  const std::int64_t of_dst = form_.dst_word_bytes * (math_.second == second_array::none ? 1 : 2);
  static_cast<void>(base::checked_mul(of_src + of_dst, map::words(form_), bytes));
  return bytes;
}

std::int64_t plan_state::workspace_bytes(device where) const {
  api::check_enumerator(where);
  if (!what_.in_place || form_.empty) return 0;
  const bool asks_all = where == device::automatic;
  const std::int64_t on_cpu = in_place_ && (asks_all || where == device::cpu) ? in_place_->workspace_bytes : 0;
  const bool asks_gpu = on_ != device::cpu && (asks_all || api::is_gpu(where));
  return asks_gpu ? std::max(on_cpu, running::workspace_on_gpu(what_, kernel_)) : on_cpu;
}

namespace {

template <class T>
std::int64_t heap_bytes(const std::vector<T>& all) noexcept {
  return static_cast<std::int64_t>(all.capacity() * sizeof(T));
}

// Of the programs of a problem in place, on the CPU or on a GPU.
template <class Programs>
std::int64_t heap_bytes(const Programs& all) noexcept {
  std::int64_t sum = heap_bytes(all.moves) + heap_bytes(all.programs);
  for (const auto& program : all.programs) sum += heap_bytes(program.steps);
  return sum;
}

}  // namespace

std::int64_t plan_state::bytes() const noexcept {
  std::int64_t sum = sizeof *this + (in_place_ ? heap_bytes(*in_place_) : 0) + (measured_ ? measured_->bytes() : 0);
  for (const auto& one : gpu_plans_) {
    const running::gpu_plan* const on_device = one.load(std::memory_order_acquire);
    if (on_device == nullptr) continue;
    sum += sizeof *on_device + heap_bytes(on_device->variants);
    for (const running::gpu_variant& variant : on_device->variants) {
      if (variant.rectangle != nullptr) sum += sizeof *variant.rectangle + heap_bytes(*variant.rectangle);
    }
  }
  return sum;
}

api::tuned_key plan_state::key_on_cpu(int threads) const {
  return {.form = &form_, .align = 0, .limit = threads, .machine = {}, .cpu = &cpu_};
}

}  // namespace detail

std::string plan::explain() const {
  return api::guarded([&] { return state_->explain(); });
}
const char* plan::kernel() const noexcept { return state_->kernel(); }
int plan::threads() const noexcept { return state_->threads(); }
std::int64_t plan::bytes_moved() const noexcept { return state_->bytes_moved(); }
std::int64_t plan::workspace_bytes(device where) const {
  return api::guarded([&] { return state_->workspace_bytes(where); });
}

}  // namespace cornerturn
