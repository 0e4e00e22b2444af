#include "trace/trace.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <numeric>

#include "api/gpu_launches.hpp"
#include "cornerturn/error.hpp"
#include "trace/tally.hpp"
#ifdef TRACE_HAS_EMULATOR
#include "emulate/rows.hpp"
#endif

namespace cornerturn::trace {
namespace {

// Zeros that take no memory until they are stored to.
class reserved_bytes {
 public:
  explicit reserved_bytes(std::int64_t size) : size_(static_cast<std::size_t>(size) + 2 * guard) {
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~reserved_bytes() { munmap(memory_, size_); }
  reserved_bytes(const reserved_bytes&) = delete;
  reserved_bytes& operator=(const reserved_bytes&) = delete;
  [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(memory_) + guard; }

 private:
  static constexpr std::size_t guard = 4096;
  std::size_t size_;
  void* memory_ = nullptr;
};

// The bytes from the lowest to the highest element, and where element 0 is among them.
struct extent {
  std::int64_t first = 0;
  std::int64_t size = 0;
};
extent extent_of(const problem& what, std::int64_t axis::*stride, std::int64_t element_bytes) {
  std::int64_t low = 0, high = 0;
  for (int k = 0; k < what.rank; ++k) {
    const std::int64_t reach = (what.axes[k].extent - 1) * what.axes[k].*stride;
    (reach < 0 ? low : high) += reach;
  }
  return {-low * element_bytes, (high - low + 1) * element_bytes};
}

std::int64_t dst_bytes_of(const problem& what) {
  return what.math.dst == element_type::bits ? what.element_bytes : bytes_of(what.math.dst);
}

// The arrays of a case, as a GPU would have them.
class arrays {
 public:
  explicit arrays(const row_case& one) {
    const problem& what = one.what;
    const std::int64_t items = std::max(one.items, 1);
    const item_steps steps = steps_of(one);
    const extent to = extent_of(what, &axis::dst_stride, dst_bytes_of(what));
    all.dst = of(to.size + one.dst_shift + items * steps.dst) + to.first + one.dst_shift;
    const extent from = extent_of(what, &axis::src_stride, what.element_bytes);
    all.src = what.in_place ? all.dst : of(from.size + one.src_shift + items * steps.src) + from.first + one.src_shift;
    if (what.math.second != second_array::none) {
      const extent other = extent_of(what, &axis::second_stride, dst_bytes_of(what));
      all.second = of(other.size + one.dst_shift) + other.first + one.dst_shift;
    } else if (what.math.beta.re != 0 || what.math.beta.im != 0) {
      all.second = all.dst;
    }
    if (what.math.scaled) all.scale = reinterpret_cast<const float*>(of(sizeof(float)));
    all.workspace = [this](std::int64_t bytes) { return of(bytes); };
    for (std::int64_t k = 0; k < one.items; ++k) {
      src.push_back(all.src + k * steps.src);
      dst.push_back(all.dst + k * steps.dst);
    }
  }

  detail::gpu_arguments all;
  std::vector<const std::byte*> src;  // of each item of a batch
  std::vector<std::byte*> dst;

 private:
  std::byte* of(std::int64_t bytes) {
    memory_.push_back(std::make_unique<reserved_bytes>(bytes));
    return memory_.back()->begin();
  }
  std::vector<std::unique_ptr<reserved_bytes>> memory_;
};

kernels::gpu_traits traits_of(const model::architecture& on) {
  return {.arch = std::stoi(std::string(on.name).substr(3)),  // sm_90
          .lanes = on.rules.lanes,
          .multiprocessors = on.multiprocessors,
          .registers = on.registers,
          .shared_bytes = on.shared_bytes_of_block,
          .multiprocessor_shared_bytes = on.shared_bytes,
          .sector_bytes = on.rules.line_bytes};
}

void for_each_launch(const row_case& one, const arrays& memory, const model::architecture& machine,
                     const std::function<void(const detail::gpu_launch&)>& each) {
  if (one.items == 0) return detail::for_each_launch(one.what, traits_of(machine), one.row, memory.all, each);
  detail::for_each_batch_launch(one.what, memory.src, memory.dst, traits_of(machine), each);
}

#ifdef TRACE_HAS_EMULATOR

constexpr std::int64_t sampled_blocks = 512;  // of more, so many run at most
constexpr std::int64_t outer_blocks =
    2;  // at each end of an axis of the grid: the last one, and one whose neighbour it is

// Blocks that run, by how many blocks each of them stands for.
using sample = std::map<std::int64_t, std::vector<std::uint32_t>>;

struct choice {
  std::int64_t index;
  std::int64_t times;
};

// Indices of one axis of the grid: the outer ones, and one of each remainder modulo `period` of those between.
std::vector<choice> choices_along(std::int64_t count, std::int64_t period) {
  std::vector<choice> made;
  if (count <= period + 2 * outer_blocks) {
    for (std::int64_t k = 0; k < count; ++k) made.push_back({k, 1});
    return made;
  }
  const std::int64_t inner = count - 2 * outer_blocks;
  for (std::int64_t k = 0; k < outer_blocks; ++k) made.push_back({k, 1});
  for (std::int64_t k = 0; k < period; ++k) made.push_back({outer_blocks + k, (inner - k + period - 1) / period});
  for (std::int64_t k = count - outer_blocks; k < count; ++k) made.push_back({k, 1});
  return made;
}

sample sample_of(std::int64_t blocks, std::vector<std::uint32_t> digits) {
  sample made;
  if (blocks <= all_blocks) {
    made[1].resize(static_cast<std::size_t>(blocks));
    std::iota(made[1].begin(), made[1].end(), 0U);
    return made;
  }
  const std::int64_t product = std::accumulate(digits.begin(), digits.end(), std::int64_t{1}, std::multiplies<>());
  if (product != blocks) digits = {static_cast<std::uint32_t>(blocks)};
  std::vector<std::vector<choice>> axes;
  for (std::int64_t period = sampled_blocks / 2; period >= 1; period /= 2) {
    axes.clear();
    std::int64_t count = 1;
    for (const std::uint32_t digit : digits) {
      axes.push_back(choices_along(digit, period));
      count *= static_cast<std::int64_t>(axes.back().size());
    }
    if (count <= sampled_blocks) break;
  }
  std::vector<choice> all = {{0, 1}};
  std::int64_t step = 1;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    std::vector<choice> longer;
    for (const choice& one : axes[k]) {
      for (const choice& before : all) longer.push_back({before.index + one.index * step, before.times * one.times});
    }
    all = std::move(longer);
    step *= digits[k];
  }
  for (const choice& one : all) made[one.times].push_back(static_cast<std::uint32_t>(one.index));
  return made;
}

launch_count count_launch(const detail::gpu_launch& launch, const detail::gpu_arguments& all,
                          const model::architecture& machine) {
  launch_count made;
  made.row = launch.row;
  made.blocks = launch.blocks;
  made.has_flags = launch.flag_count > 0;
  made.shared_bytes = launch.shared_bytes;
  tally counted(machine.rules, machine.has_async_copy);
  emulated::session running;
  running.on_request = &tally::on_request;
  running.context = &counted;
  running.lanes = machine.rules.lanes;
  running.src = {launch.src.begin, launch.src.end};
  running.dst = {launch.dst.begin, launch.dst.end};
  running.second = {launch.second.begin, launch.second.end};
  running.second_written = launch.second_written;
  running.dst_is_read = all.second == all.dst && all.dst != nullptr;
  running.also_read = {{launch.table.begin, launch.table.end}};
  if (all.scale != nullptr) running.scale = {all.scale, all.scale + 1};
  if (made.has_flags) running.flags = {launch.flags, launch.flags + launch.flag_count};
  const emulated::row_function run = emulated::find_row(launch.row);
  if (run == nullptr) throw error(status::internal, std::string(launch.row) + ": the emulator has no such row");
  // Which items a walker moves depends on the flags that others have set, so all of them run.
  const sample chosen = made.has_flags ? sample{{1, {}}} : sample_of(launch.blocks, launch.digits);
  for (const auto& [times, blocks] : chosen) {
    counted.weight = times;
    running.blocks = blocks;
    made.counted_blocks += made.has_flags ? launch.blocks : static_cast<std::int64_t>(blocks.size());
    if (const char* const said = run(launch.arguments, launch.blocks, launch.shared_bytes, &running)) {
      throw error(status::internal, std::string(launch.row) + ": " + said);
    }
  }
  made.counts = counted.counts;
  made.atomics = counted.atomics;
  return made;
}

#endif

void add(model::global_count& to, const model::global_count& more) {
  to.requests += more.requests;
  to.lines += more.lines;
  to.bytes += more.bytes;
  to.line_bytes = more.line_bytes;
}
void add(model::shared_count& to, const model::shared_count& more) {
  to.requests += more.requests;
  to.cycles += more.cycles;
  to.conflicts += more.conflicts;
}
void add(model::traffic& to, const model::traffic& more) {
  add(to.load, more.load);
  add(to.store, more.store);
  add(to.async_load, more.async_load);
  add(to.shared_load, more.shared_load);
  add(to.shared_store, more.shared_store);
  add(to.async_store, more.async_store);
}

}  // namespace

model::traffic row_count::sum() const {
  model::traffic all;
  for (const launch_count& one : launches) add(all, one.counts);
  return all;
}
bool row_count::is_scaled() const {
  return std::any_of(launches.begin(), launches.end(),
                     [](const launch_count& one) { return one.counted_blocks < one.blocks; });
}
bool row_count::has_flags() const {
  return std::any_of(launches.begin(), launches.end(), [](const launch_count& one) { return one.has_flags; });
}

bool can_count() noexcept {
#ifdef TRACE_HAS_EMULATOR
  return true;
#else
  return false;
#endif
}

std::vector<std::string_view> rows() { return detail::gpu_rows(); }

item_steps steps_of(const row_case& one) {
  if (one.items == 0) return {};
  // Items that all begin alike, 16 bytes apart at least.
  const auto step = [](std::int64_t bytes) { return (bytes + 16 + 63) / 64 * 64; };
  return {step(extent_of(one.what, &axis::src_stride, one.what.element_bytes).size),
          step(extent_of(one.what, &axis::dst_stride, dst_bytes_of(one.what)).size)};
}

array_bytes bytes_of(const row_case& one) {
  const item_steps steps = steps_of(one);
  return {extent_of(one.what, &axis::src_stride, one.what.element_bytes).size + one.src_shift + one.items * steps.src,
          extent_of(one.what, &axis::dst_stride, dst_bytes_of(one.what)).size + one.dst_shift + one.items * steps.dst};
}

row_count count(const problem& what, std::string_view row, const model::architecture& machine) {
  return count(row_case{what, std::string(row)}, machine);
}

row_count count(const row_case& one, const model::architecture& machine) {
#ifdef TRACE_HAS_EMULATOR
  const arrays memory(one);
  row_count made;
  for_each_launch(one, memory, machine, [&](const detail::gpu_launch& launch) {
    made.launches.push_back(count_launch(launch, memory.all, machine));
  });
  return made;
#else
  throw error(status::no_device, one.row + " on " + machine.name + ": this build cannot count a row");
#endif
}

std::vector<planned_launch> plan_of(const row_case& one, const model::architecture& machine) {
  std::vector<planned_launch> made;
  try {
    const arrays memory(one);
    for_each_launch(one, memory, machine, [&](const detail::gpu_launch& launch) {
      made.push_back({launch.row, launch.blocks, launch.flag_count > 0});
    });
  } catch (const error&) {
    made.clear();
  }
  return made;
}

std::vector<arithmetic> math_of(std::int64_t element_bytes) {
  constexpr element_type known[] = {element_type::float32,     element_type::float16,   element_type::float64,
                                    element_type::float8_e4m3, element_type::complex64, element_type::complex128,
                                    element_type::float8_e5m2, element_type::bfloat16};
  std::vector<arithmetic> made;
  for (const element_type src : known) {
    if (bytes_of(src) != element_bytes) continue;
    for (const element_type dst : known) {
      arithmetic one;
      one.src = src;
      one.dst = dst;
      one.alpha = {2, 0};
      one.scaled = bytes_of(dst) == 1;
      made.push_back(one);
      one.alpha = {1, 0};
      made.push_back(one);
    }
  }
  if (element_bytes == 1) {
    made.emplace_back();
    made.back().src = element_type::int8;
    made.back().dst = element_type::uint8;
  }
  return made;
}

problem problem_for(std::string_view row, const std::vector<std::int64_t>& shape, const std::vector<int>& axes,
                    std::int64_t element_bytes) {
  const problem plain = permute_problem(shape, axes, element_bytes);
  std::vector<problem> tried = {plain, plain};
  tried.back().in_place = true;
  for (const arithmetic& math : math_of(element_bytes)) {
    tried.push_back(plain);
    tried.back().math = math;
  }
  for (const problem& one : tried) {
    if (!plan_of({one, std::string(row)}, *model::find_architecture("sm_90")).empty()) return one;
  }
  throw error(status::invalid_argument, "kernel: \"" + std::string(row) + "\" cannot move this problem");
}

}  // namespace cornerturn::trace
