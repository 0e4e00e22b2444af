// How a batch becomes launches on a GPU: the tables of kernels/gpu/box_batch.cuh, see batch_gpu.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cornerturn/problem.hpp"
#include "kernels/gpu/job.hpp"
#include "plan/batch.hpp"
#include "plan/choose_gpu.hpp"

namespace cornerturn::planning {

struct gpu_batch {
  struct launch {
    const kernels::kernel* kernel = nullptr;
    std::uint32_t blocks = 0;
    int shared_bytes = 0;
    std::size_t shapes_at = 0;  // in the table
    std::size_t items_at = 0;
    std::size_t blocks_at = 0;
    std::int32_t shape_bytes = 0;
    std::int32_t shape_at = 0;  // in shared memory
    std::int64_t shapes = 0;
    std::int64_t items = 0;
  };
  std::vector<std::byte> table;  // for the device's memory, at a multiple of 16 bytes
  std::vector<launch> launches;
  std::vector<std::size_t> alone;  // moves that want a launch of their own
};

// From here on an item fills a GPU by itself, and its own kernel is worth a launch: a copy of 32 MiB takes 15 us on an
// H200.
inline constexpr std::int64_t alone_bytes = 32 << 20;

// Requires  problems that only move and have elements; wanted.kernel and wanted.alignment are not looked at
[[nodiscard]] gpu_batch lay_out(std::span<const problem> problems, std::span<const batch_move> moves,
                                const gpu_request& wanted, const gpu_tuning& tuned);

// The job of a launch whose table is there.
[[nodiscard]] gpu::box_batch_job job_of(const gpu_batch::launch& one, const void* table) noexcept;

}  // namespace cornerturn::planning
