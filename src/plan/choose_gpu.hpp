// Which GPU kernel moves a canonical problem, and how the grid is numbered: one numbered list, see choose_gpu.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "kernels/gpu/job.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"
#include "plan/gpu_tuning.hpp"

namespace cornerturn::planning {

struct gpu_request {
  int multiprocessors = 1;
  std::int64_t shared_bytes = 48 << 10;  // of a block, at most
  int alignment = 16;                    // of both pointers of index 0, at least; a power of two up to 16
  std::string_view kernel;               // force this row; empty: let the list decide
};

struct gpu_choice {
  const kernels::kernel* kernel = nullptr;  // null: the forced row cannot move this problem
  std::variant<gpu::chain_job, gpu::small_job, gpu::blocks_job, gpu::box_job, gpu::panel_job, gpu::runs_job,
               gpu::swap_job, gpu::apply_job, gpu::cycles_job, gpu::strips_job>
      job;
  std::uint32_t blocks = 0;
  int shared_bytes = 0;
  int line = 0;  // of the decision list
  const char* reason = "";
};

// Requires  a form of words of at most wanted.alignment bytes
[[nodiscard]] gpu_choice choose(const map::canonical& form, const gpu_request& wanted,
                                const gpu_tuning& tuned) noexcept;

}  // namespace cornerturn::planning
