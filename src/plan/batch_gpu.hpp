// How a batch becomes launches on a GPU: the tables of kernels/gpu/box_batch.cuh, blocks.cuh and panel.cuh, see
// batch_gpu.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "cornerturn/problem.hpp"
#include "kernels/gpu/gather/args.hpp"
#include "kernels/gpu/panel/args.hpp"
#include "kernels/gpu/small/args.hpp"
#include "plan/choose.hpp"
#include "plan/batch.hpp"

namespace cornerturn::planning {

struct gpu_batch {
  struct launch {
    const kernels::kernel* kernel = nullptr;
    std::uint32_t blocks = 0;
    int shared_bytes = 0;
    std::variant<gpu::gather_batch_args, gpu::small_batch_args, gpu::panel_batch_args> job;  // its pointers are null
    std::size_t shapes_at = 0;                                                               // in the table
    std::size_t items_at = 0;
    std::size_t blocks_at = 0;
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

// From here on matrices of one shape, whole chunks a side, are worth a launch of their own: as many bytes take half a
// microsecond, and a launch two, but boxes of 16 x 16 elements of two bytes have 0.29 of the copy (H200, 2026-11-22).
inline constexpr std::int64_t own_launch_bytes = 1 << 20;

// Requires  problems that only move and have elements
[[nodiscard]] gpu_batch lay_out(std::span<const problem> problems, std::span<const batch_move> moves,
                                const kernels::target& on);

// Effect  calls start with the job of a launch whose table is there
template <class Start>
decltype(auto) with_job(const gpu_batch::launch& one, const void* table, const Start& start) {
  const auto* const at = static_cast<const unsigned char*>(table);
  auto job = one.job;
  return std::visit(
      [&](auto& mine) {
        mine.items = reinterpret_cast<decltype(mine.items)>(at + one.items_at);
        if constexpr (requires { mine.shapes; }) {
          mine.shapes = at + one.shapes_at;
          mine.blocks = reinterpret_cast<const gpu::gather_block*>(at + one.blocks_at);
        }
        return start(static_cast<const void*>(&mine));
      },
      job);
}

}  // namespace cornerturn::planning
