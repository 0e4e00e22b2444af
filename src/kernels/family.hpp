// The planner asks every family of kernels for an offer.
//
// A family is a folder, src/kernels/{cpu,gpu}/<family>:
//   args.hpp    the plain data that its kernels take
//   offer.cpp   whether a row of the family fits the problem, its arguments and its cost
//   rows.inc    its rows, included by kernels.inc
//   the text of its kernels
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "kernels/gpu/policy/transpose_axes.hpp"
#include "kernels/gpu/traits.hpp"
#include "kernels/op.hpp"
#include "map/canonical.hpp"
#include "map/in_place.hpp"

namespace cornerturn::base {
struct machine;
}
namespace cornerturn::gpu {
struct device_costs;
}

namespace cornerturn::kernels::cpu {
struct cpu_costs;
}

namespace cornerturn::kernels {

struct kernel;
struct batch_facts;
struct item_cycles;
struct strip_steps;

// The resource that a kernel exhausts first, by the prediction of its family.
enum class bound : std::uint8_t {
  nothing,   // the problem has no elements
  dram,      // DRAM sectors
  requests,  // L1 and L2 requests; on a CPU: cache lines that are loaded more than once
  shared,    // wavefronts of shared memory
  issue,     // issued instructions
  latency,   // too little work for the machine
};
[[nodiscard]] const char* name(bound limit) noexcept;

// The planner's knowledge of a problem. facts_of() computes it once for each plan, before the families are asked.
struct facts {
  map::canonical form;                           // its offsets are 0: a pointer is the address of index 0
  op math{};                                     // for rows of the kind `arithmetic`
  const map::in_place_form* in_place = nullptr;  // for rows of the kind `in_place`
  const strip_steps* strips = nullptr;           // for a step of a rectangle in place: its strips
  const item_cycles* cycles = nullptr;           // for a step of a rectangle in place: its items
  const batch_facts* batch = nullptr;            // for rows of the kind `batch`
  std::int64_t bytes = 0;                        // of all elements of one side; with conversions, their mean
  int src_unit_axis = -1;                        // the axis of `form` with src stride 1; -1: none
  int dst_unit_axis = -1;                        // the axis with dst stride 1

  // CPU.
  int threads = 1;                // upper bound
  std::int64_t beside_bytes = 0;  // the call writes so many bytes besides dst, which compete for the cache

  // GPU.
  int alignment = 16;       // of both pointers, at least; a power of two up to 16
  bool transposes = false;  // rows and columns exist, and are not one axis
  gpu::transpose_axes transposed{};

  // Null: there is none.
  [[nodiscard]] const axis* src_unit() const noexcept {
    return src_unit_axis < 0 ? nullptr : &form.axes[src_unit_axis];
  }
  [[nodiscard]] const axis* dst_unit() const noexcept {
    return dst_unit_axis < 0 ? nullptr : &form.axes[dst_unit_axis];
  }
  // Null: the problem does not transpose.
  [[nodiscard]] const gpu::transpose_axes* axes() const noexcept { return transposes ? &transposed : nullptr; }
};

// The device of an offer: a CPU, or the traits of a GPU; and the constants of its cost model.
struct target : gpu_traits {
  const base::machine* cpu = nullptr;
  const gpu::device_costs* gpu = nullptr;  // kernels/gpu/policy/costs.hpp
  const cpu::cpu_costs* costs = nullptr;   // kernels/cpu/costs.hpp
};

// How a batch on the CPU takes an item that fits the cache, by the offer for its problem.
struct item_traits {
  bool is_run = false;           // one run on both sides
  bool takes_strips = false;     // kernels/cpu/batch/item_strips-inl.hpp takes it
  std::int64_t panel_bytes = 0;  // of a matrix: so many are transposed at a time. 0: all of the item
};

inline constexpr std::size_t max_args_bytes = 4000;  // CUDA passes at most 4,096 bytes

// A copy takes the used part of the arguments only.
struct offer {
  offer() noexcept {
  }  // NOLINT(modernize-use-equals-default): a default one would fill args with zeros where {} makes it
  offer(const offer& from) noexcept { *this = from; }
  offer& operator=(const offer& from) noexcept {
    if (this != &from) std::memcpy(static_cast<void*>(this), &from, offsetof(offer, args) + from.args_bytes);
    return *this;
  }

  const kernel* row = nullptr;
  double time = 0;  // predicted; 1: the time of a copy of as many bytes
  bound binds = bound::dram;
  const char* reason = "";   // one sentence
  float counts[5] = {};      // of the prediction: see gpu/policy/costs.hpp
  std::int64_t units = 0;    // CPU: units of work, which are independent
  int threads = 1;           // CPU
  std::uint32_t blocks = 0;  // GPU
  int shared_bytes = 0;      // GPU: of a block
  // GPU: the axes of the grid, fastest first, of offers whose blocks are numbered axis by axis. Null: they are not.
  std::vector<std::uint32_t> (*grid_extents)(const offer& made) = nullptr;
  bool has_blocking = false;    // CPU: the arguments begin with a cpu::blocking
  item_traits item{};           // CPU
  std::int64_t flag_bytes = 0;  // of a step in place: so many bytes of the workspace must be 0 when it starts
  std::uint32_t args_bytes = 0;
  alignas(16) std::byte args[max_args_bytes];  // the struct of the family's args.hpp

  // Constructs the arguments, a default Args.
  template <class Args>
  Args& emplace() noexcept {
    static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= max_args_bytes && alignof(Args) <= 16);
    args_bytes = sizeof(Args);
    has_blocking = requires { Args::is_blocking; };
    grid_extents = nullptr;
    item = {};
    flag_bytes = 0;
    if constexpr (requires(const Args& of) { of.blocks.axes[0].count.divisor; }) grid_extents = &extents_of_grid<Args>;
    return *new (args) Args{};
  }
  template <class Args>
  [[nodiscard]] const Args& as() const noexcept {
    return *std::launder(reinterpret_cast<const Args*>(args));
  }

 private:
  template <class Args>
  static std::vector<std::uint32_t> extents_of_grid(const offer& made) {
    const auto& blocks = made.as<Args>().blocks;
    std::vector<std::uint32_t> extents;
    for (int k = 0; k < blocks.rank; ++k) extents.push_back(blocks.axes[k].count.divisor);
    return extents;
  }
};

// Returns  the facts of a canonical problem, out of place; its offsets are ignored. math: of a problem that computes
[[nodiscard]] facts facts_of(const map::canonical& form, const op& math = {}) noexcept;

// Effect  fills all members of `made` but `row`
// Returns false if the row does not accept the problem; then `made` is unspecified
using offer_function = bool (*)(const facts& known, const target& on, const kernel& row, offer& made) noexcept;

}  // namespace cornerturn::kernels
