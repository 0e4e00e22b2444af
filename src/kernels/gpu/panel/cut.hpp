// Cuts small matrices into panels.
#pragma once

#include <cstdint>

#include "kernels/gpu/panel/args.hpp"
#include "map/canonical.hpp"

namespace cornerturn::gpu {

// Shared memory of a block, at most, with the items of its teams.
inline constexpr std::int64_t most_panel_bytes = 34 << 10;

// Smaller matrices of a batch are gathered in boxes that hold several of them. 8 x 8 float32 reaches 0.76 of a copy in
// boxes and 0.27 in panels, but 31 x 33 float32 0.82 in boxes and 0.88 in panels (H200, 2026-11-22).
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

// False when the form is no matrix, or its words are wider than 8 bytes.
[[nodiscard]] bool find_matrix(const map::canonical& form, panel_matrix& found) noexcept;

// Rows and columns of a panel. A matrix is also cut along its rows if less than 64 bytes of each would fit.
struct panel_cut {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};
[[nodiscard]] panel_cut cut_panels(const panel_matrix& matrix) noexcept;

inline constexpr int smallest_team_log2 = 5;

// The shape of panels of so many rows and at most so many columns.
[[nodiscard]] panel_shape shape_of_panels(const panel_matrix& matrix, std::int64_t rows, std::int64_t cols,
                                          int least_team_log2 = smallest_team_log2) noexcept;

// True for a form of many matrices whose rows need not be cut.
[[nodiscard]] bool is_of_panels(const map::canonical& form, panel_matrix& found) noexcept;

// Requires  is_of_panels
// Returns the arguments, and the number of blocks in `blocks`: 0 when the grid would be too large
[[nodiscard]] panel_args fill_panels(const map::canonical& form, const panel_matrix& matrix,
                                     std::uint32_t& blocks) noexcept;

}  // namespace cornerturn::gpu
