// Plans a batch as launches on a GPU. It fills the tables of the batch rows of the families gather, small and panel.
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
#include "plan/batch.hpp"
#include "plan/choose.hpp"

namespace cornerturn::planning {

struct gpu_batch {
  struct launch {
    const kernels::kernel* kernel = nullptr;
    std::uint32_t blocks = 0;
    int shared_bytes = 0;
    std::variant<gpu::gather_batch_args, gpu::small_batch_args, gpu::panel_batch_args> args;  // its pointers are null
    std::size_t shapes_at = 0;                                                                // in the table
    std::size_t items_at = 0;
    std::size_t blocks_at = 0;
    std::int64_t shapes = 0;
    std::int64_t items = 0;
  };
  std::vector<std::byte> table;  // for the device's memory, at a multiple of 16 bytes
  std::vector<launch> launches;
  std::vector<std::size_t> alone;  // moves that get a launch of their own
};

// A larger item fills a GPU, so it gets a launch of its own best kernel: a copy of 32 MiB takes 15 us (H200,
// 2026-11-22).
inline constexpr std::int64_t alone_bytes = 32 << 20;

// Matrices of one shape, with whole chunks a side, get a launch of the family small if they have so many bytes
// together. These bytes take 0.5 us and a launch takes 2 us, but boxes of 16 x 16 2-byte elements reach only 0.29 of a
// copy (H200, 2026-11-22).
inline constexpr std::int64_t own_launch_bytes = 1 << 20;

// Requires  problems without arithmetic, and with elements
[[nodiscard]] gpu_batch lay_out(std::span<const problem> problems, std::span<const batch_move> moves,
                                const kernels::target& on);

// Effect  calls start with the arguments of a launch; `table` is the address of the table in device memory
template <class Start>
decltype(auto) with_args(const gpu_batch::launch& one, const void* table, const Start& start) {
  const auto* const at = static_cast<const unsigned char*>(table);
  auto args = one.args;
  return std::visit(
      [&](auto& mine) {
        mine.items = reinterpret_cast<decltype(mine.items)>(at + one.items_at);
        if constexpr (requires { mine.shapes; }) {
          mine.shapes = at + one.shapes_at;
          mine.blocks = reinterpret_cast<const gpu::gather_block*>(at + one.blocks_at);
        }
        return start(static_cast<const void*>(&mine));
      },
      args);
}

}  // namespace cornerturn::planning
