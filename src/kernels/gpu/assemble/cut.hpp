// Cuts a problem into boxes: selects the axes, the indices of each, and their strides in shared memory.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/gpu/assemble/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "map/canonical.hpp"

namespace cornerturn::gpu {

struct assemble_box {
  assemble_args args;
  std::uint32_t blocks = 0;  // 0: the problem has no such boxes
  bool is_too_large = false;
  int shared_bytes = 0;
  double conflicts = 1;                            // wavefronts of one load of a warp from shared memory
  double halo_part = 0;                            // of a line: so much more of src is loaded
  double src_part = 1;                             // staged bytes over bytes of dst: less than 1 where src is broadcast
  double gaps = 1;                                 // staged bytes over bytes of elements, of a run
  std::array<std::int64_t, map::max_axes> tile{};  // indices of each axis of the form
  double cost = 0;                                 // of a chunk, in wavefronts of shared memory
  std::int64_t run_bytes = 0;
  std::int64_t row_bytes = 0;  // of a run without padding inside
  std::int64_t line_bytes = 0;
  std::int64_t bytes_between_parts = 0;  // of dst: lines with a halo only store parts of chunks where dst has a gap
};

// words: of an element, 1 or 3; 0: an element is a run of at least 16 bytes. fused: some list has several axes, or none has.
[[nodiscard]] assemble_box cut_for_assembly(const map::canonical& form, int words, bool fused,
                                            std::int64_t most_shared_bytes, const kernels::target& on) noexcept;

}  // namespace cornerturn::gpu
