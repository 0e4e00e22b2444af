// The constants of each GPU in the table: geometry that was tuned, and the shares of a copy that the kernels reach.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/family.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::gpu {

struct device_costs {
  const char* name;           // of the table's row; explain() prints it
  int arch;                   // the first compute capability it is for: 90 for sm_90
  int device_arch;            // its own
  int multiprocessors;        // of a target that is no device of this machine
  std::int64_t shared_bytes;  // of a block, at most

  // Geometry.
  std::int64_t side_bytes;       // of a run and of a line of a gathered box
  std::int64_t gather_bytes[5];  // of a box, by word size 1, 2, 4, 8, 16
  std::int64_t band_bytes;       // of src that one column of tiles may span before the next column begins; 0: all rows
  std::int64_t piece_words;      // of one run that a block copies, at most
  std::int64_t small_bytes;      // of one side of a matrix that is bound by latency, at most

  // Time.
  double copy_bytes_per_us;  // of both sides
  double launch_us;          // of an empty launch
  double copy_block_us;      // of one block of a copy, alone
  double block_us;           // of one block that goes through shared memory, alone
};

// The row of the table for a device: the last one whose arch it reaches.
[[nodiscard]] const device_costs& costs_for(int arch) noexcept;
[[nodiscard]] std::span<const device_costs> all_costs() noexcept;

// What an offer counts, relative to a copy of the same bytes: the geometry, without a machine. Each count is multiplied by
// a constant of the row on the machine, and their sum is the predicted time. What each family counts is in its offer.cpp.
struct counts {
  double copy = 1;      // the traffic of the copy itself
  double dram = 0;      // sectors of DRAM that the ends of runs and lines waste
  double requests = 0;  // of L1 and L2
  double shared = 0;    // wavefronts of shared memory
  double issue = 0;     // instructions
};

// Effect  sets time and bound: the sum of the counts by the row's constants, stretched where the last turn of blocks leaves
//         multiprocessors idle, and the latency of a launch. Requires  made.blocks and made.shared_bytes
void predict(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row, const counts& parts,
             kernels::offer& made) noexcept;

// The share of bytes that a run of so many bytes adds in sectors, when it begins anywhere that `alignment` allows: 0 for
// whole sectors.
[[nodiscard]] double sector_waste(std::int64_t run_bytes, std::int64_t alignment) noexcept;

}  // namespace cornerturn::gpu
