// How a batch of moves is shared out to threads: each different problem is planned once, and each thread takes as many
// bytes as any other, give or take a unit.
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
  std::vector<position> begins;          // where each thread begins, and after them the end
  std::int64_t bytes = 0;                // that all moves write; INT64_MAX when there are more
  [[nodiscard]] int threads() const noexcept { return static_cast<int>(begins.size()) - 1; }
};

// Requires  forms of problems that only move, one for each number that a move has
[[nodiscard]] batch_choice choose_batch(std::span<const map::canonical> forms, std::span<const batch_move> moves,
                                        int threads, const base::machine& machine);

}  // namespace cornerturn::planning
