// The grid of tiles that several families share, and how plan.explain() prints it.
#pragma once

#include <string>

#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/tile_args.hpp"
#include "kernels/gpu/policy/transpose_axes.hpp"

namespace cornerturn::gpu {

// How many tiles of so many elements the problem has.
[[nodiscard]] double tiles_of(const kernels::facts& known, std::int64_t across, std::int64_t down) noexcept;

// The area of all tiles over the area of the problem, less 1: the part of the tiles that is empty.
[[nodiscard]] double empty_part(const transpose_axes& axes, const kernels::kernel& row) noexcept;
// The share of tiles that some edge cuts, of tiles of the row's size; `halo`: the first and the last tile of each column of
// tiles too.
[[nodiscard]] double cut_tiles(const transpose_axes& axes, const kernels::kernel& row, bool halo) noexcept;

// What a tile of so many bytes of a row and of a column adds in sectors, half for each side.
[[nodiscard]] double tile_waste(const kernels::facts& known, std::int64_t row_bytes, std::int64_t col_bytes) noexcept;

// Fills strides and grid for tiles of the row's size: down a column of tiles first, so that consecutive blocks complete the
// same runs of dst. False where a grid has too few blocks.
[[nodiscard]] bool number_tiles(const kernels::facts& known, const kernels::kernel& row, std::int64_t band_bytes,
                                tile_args& args, kernels::offer& made) noexcept;

// Adds the axes that are neither rows nor columns.
void number_others(const map::canonical& form, const transpose_axes& axes, grid_builder& number) noexcept;

[[nodiscard]] std::string describe_grid(const grid& blocks);
[[nodiscard]] std::string describe_tile(const kernels::offer& made);

}  // namespace cornerturn::gpu
