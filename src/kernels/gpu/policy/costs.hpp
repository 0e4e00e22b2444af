// The cost model: the tuned geometry and the constants of each GPU, and the prediction of an offer's time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/family.hpp"
#include "kernels/gpu/device.hpp"
#include "kernels/gpu/policy/element_grid.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::gpu {

// Constants of a row: a time relative to a copy is the sum of its counts, each times its constant.
struct constants {
  float copy = 1, dram = 1, requests = 1, shared = 1, issue = 1;
};
struct row_constants {
  constants usual{};
  float latency_us = 1.8F;                         // of a problem that stays in L2
  constants cached{1.2F, 0.5F, 0.5F, 0.1F, 0.5F};  // of such a problem, too
};

// kernels/machine has a file for each.
struct device_costs {
  const char* name;    // of the machine file; explain() prints these three
  const char* date;    // of its measurement
  const char* origin;  // "built in", or its path
  kernels::gpu_traits device;
  const row_constants* rows;  // one for each row of the list

  // Geometry.
  std::int64_t side_bytes;       // of a run and of a line of a gather box
  std::int64_t gather_bytes[5];  // of a box, by word size 1, 2, 4, 8, 16
  std::int64_t assemble_bytes;   // of an assemble box
  std::int64_t piece_words;      // of one run that a block copies, at most

  // Time.
  double launch_us;      // of an empty launch
  double copy_block_us;  // of one block of a copy, alone
  double block_us;       // of one block that goes through shared memory, alone

  // A problem of at most so many bytes a side stays in L2: its data are there before the call, and after it.
  std::int64_t cached_bytes;
  double cached_bytes_per_us;  // of a copy in L2, both sides
  double cached_copy_us;       // of a copy of no bytes
};

// Returns the constants of the nearest machine (kernels/machine/known.hpp), scaled for this device
// Cost    a search; target::gpu has them for offers
[[nodiscard]] const device_costs& costs_for(const kernels::gpu_traits& device) noexcept;

// Returns the constants of another device, by its L2 and multiprocessors; 0 bytes of L2: it is unknown, and nothing is scaled.
[[nodiscard]] device_costs scaled(const device_costs& one, const kernels::gpu_traits& to) noexcept;

// Lines of src that a kernel fetches again, relative to a copy's.
struct refetched {
  double from_dram = 0;
  double from_l2 = 0;
};

// Counts of an offer, relative to a copy of as many bytes. They depend on the geometry, not on the machine. Each count
// is multiplied by a constant of the row on the machine; the sum is the predicted time. Each offer.cpp defines its
// counts.
struct counts {
  double copy = 1;      // the traffic of the copy itself; predict() multiplies it by the lines that a view touches
  refetched again{};    // predict() adds those from DRAM to copy, and those from L2 to requests
  double dram = 0;      // bytes of partial sectors at the ends of runs and lines
  double requests = 0;  // of L1 and L2
  double shared = 0;    // wavefronts of shared memory
  double issue = 0;     // instructions
};

// Effect  sets time and bound from the counts and the row's constants, from the multiprocessors that are idle in the
//         last wave of blocks, and from the latency of a launch. A row that moves a problem in L2 has constants of its
//         own, with a latency. made.counts has the counts, which grow with the share of idle multiprocessors
// Requires  made.blocks and made.shared_bytes
void predict(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
             const counts& of_elements, kernels::offer& made) noexcept;

// The bytes of partial sectors of a run, relative to its bytes: 0 for whole sectors. The average over all addresses
// that are multiples of `alignment`. A sector has `line` bytes.
[[nodiscard]] double sector_waste(std::int64_t run_bytes, std::int64_t alignment, std::int64_t line = 32) noexcept;

// Bytes of the lines of one side that hold elements of `word` bytes, each line once, relative to the bytes of the elements.
// Less than 1: elements are read several times.
struct touched {
  double all = 1;
  double in_part = 0;  // of lines that hold other bytes too
};
[[nodiscard]] touched touched_of(const map::canonical& form, std::int64_t axis::*stride, std::int64_t word,
                                 std::int64_t line) noexcept;

// The lines that a copy of the elements moves, relative to a copy of packed arrays: a line of dst that is written in part is
// read, too.
[[nodiscard]] double touched_lines(const map::canonical& form, std::int64_t line) noexcept;

// The counts of a kernel whose threads have `each` neighbouring elements. DRAM: sectors that stores touch again.
// Requests: sectors that the loads of a warp touch beyond the fewest. Shared: divisions of elements. Issue: threads
// for each 8 bytes, and their divisions.
[[nodiscard]] counts element_counts(const kernels::facts& known, const kernels::target& on, const element_grid& numbers,
                                    std::int64_t each) noexcept;

// The counts of a kernel whose threads have several elements of a row. Where these are neighbours, each load and store of a warp touches
// the same sectors again.
[[nodiscard]] counts several_counts(const kernels::facts& known, const kernels::target& on,
                                    const several_grid& numbers) noexcept;

// `waste` has the bytes of partial sectors at the ends of runs and lines. Returns those that are not in touched_lines(): the gaps of a
// view cost every kernel.
[[nodiscard]] double waste_beyond_view(const map::canonical& form, double waste) noexcept;

// touched_of() with sectors of 32 bytes.
[[nodiscard]] double touched_sectors(const map::canonical& form, std::int64_t axis::*stride,
                                     std::int64_t word) noexcept;

// Of boxes that have `tile[k]` indices of axis k, in the order of dst. Lines that are needed again after at most `near` elements
// count nothing.
[[nodiscard]] refetched fetched_again(const map::canonical& form, const std::array<std::int64_t, map::max_axes>& tile,
                                      double near, std::int64_t l2_bytes) noexcept;
[[nodiscard]] refetched fetched_again_by_elements(const map::canonical& form, double near,
                                                  std::int64_t l2_bytes) noexcept;

}  // namespace cornerturn::gpu
