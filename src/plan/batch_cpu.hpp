// How a batch of moves on the CPU is cut into shares for threads: each different problem is planned once, and all shares have as many
// bytes, give or take a unit. There are more shares than threads, so that a thread on a busy core takes fewer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/choose.hpp"

namespace cornerturn::planning {

// One item that has elements: which of the batch's problems, and the pointers that its caller gave.
struct batch_move {
  std::uint32_t which = 0;
  const void* src = nullptr;
  void* dst = nullptr;
};

struct batch_choice {
  struct position {
    std::size_t move = 0;
    std::int64_t unit = 0;  // of that move's problem
  };
  std::vector<kernels::offer> problems;  // of each problem
  std::vector<bool> small;               // ... its items go through kernels::cpu::move_items, whole
  std::vector<std::int64_t> panels;      // ... bytes of its items that are turned at a time; 0: all
  std::vector<bool> strips;              // ... may go by kernels/cpu/batch/item_strips-inl.hpp
  std::vector<bool> copies;              // ... are one run on both sides
  std::vector<position> begins;          // where each share begins, and after them the end
  int threads = 1;
  std::int64_t bytes = 0;            // that all moves write; INT64_MAX when there are more
  std::vector<std::int64_t> beside;  // of each problem: bytes that compete with its dst for the cache
  [[nodiscard]] std::int64_t shares() const noexcept { return static_cast<std::int64_t>(begins.size()) - 1; }
};

// Requires  forms of problems that only move, one for each number that a move has
[[nodiscard]] batch_choice choose_batch(std::span<const map::canonical> forms, std::span<const batch_move> moves,
                                        int threads, const base::machine& machine);

}  // namespace cornerturn::planning
