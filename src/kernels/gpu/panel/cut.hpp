// How small matrices are cut into the panels of kernels/gpu/panel.cuh.
#pragma once

#include <cstdint>

#include "kernels/gpu/panel/args.hpp"
#include "map/canonical.hpp"

namespace cornerturn::gpu {

// What a block of panels wants of shared memory at most, its teams' items included.
inline constexpr std::int64_t most_panel_bytes = 34 << 10;

// Smaller matrices go in boxes that hold several of them: 8 x 8 float32 0.76 of the copy, in panels 0.27, but 31 x 33
// 0.82 and 0.88 (H200, 2026-11-22).
inline constexpr std::int64_t fewest_panel_bytes = 2048;

// One matrix: columns are contiguous in src, rows in dst.
struct panel_matrix {
  std::int64_t word_bytes = 1;
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  std::int64_t src_row_bytes = 0;  // from one row to the next
  std::int64_t dst_col_bytes = 0;
  int row_axis = 0;  // of the form
  int col_axis = 0;
};

// False when the form is no matrix, or one of words without a kernel.
[[nodiscard]] bool find_matrix(const map::canonical& form, panel_matrix& found) noexcept;

// Rows and columns of a panel. A matrix of so many rows that little of each would fit is cut along them too.
struct panel_cut {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};
[[nodiscard]] panel_cut cut_panels(const panel_matrix& matrix) noexcept;

inline constexpr int smallest_team_log2 = 5;

// Of panels of so many rows and at most so many columns.
[[nodiscard]] panel_shape shape_of_panels(const panel_matrix& matrix, std::int64_t rows, std::int64_t cols,
                                          int least_team_log2 = smallest_team_log2) noexcept;

// A form of many such matrices whose rows need not be cut.
[[nodiscard]] bool is_of_panels(const map::canonical& form, panel_matrix& found) noexcept;

// Requires  is_of_panels
// Returns the job, and in `blocks` how many it takes: 0 when a grid has fewer
[[nodiscard]] panel_args fill_panels(const map::canonical& form, const panel_matrix& matrix,
                                     std::uint32_t& blocks) noexcept;

}  // namespace cornerturn::gpu
