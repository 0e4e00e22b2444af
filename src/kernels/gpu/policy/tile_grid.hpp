// The grid of tiles that several families share, and how plan.explain() prints it.
#pragma once

#include <string>

#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/tile_args.hpp"
#include "kernels/gpu/policy/transpose_axes.hpp"

namespace cornerturn::gpu {

// The number of tiles of `across` x `down` elements that cover the problem.
[[nodiscard]] double tiles_of(const kernels::facts& known, std::int64_t across, std::int64_t down) noexcept;

// The empty area of the tiles, relative to the area of the problem.
[[nodiscard]] double empty_part(const transpose_axes& axes, const kernels::kernel& row) noexcept;
// The share of the kernel's tiles that an edge cuts. `halo`: the first and the last tile of each column of tiles count,
// too.
[[nodiscard]] double cut_tiles(const transpose_axes& axes, const kernels::kernel& row, bool halo) noexcept;

// The average of sector_waste() over both sides, for tiles of so many bytes of a row and of a column.
[[nodiscard]] double tile_waste(const kernels::facts& known, std::int64_t row_bytes, std::int64_t col_bytes) noexcept;

// Fills strides, extents and the size of a tile.
void set_tile(const map::canonical& form, const transpose_axes& axes, std::int64_t across, std::int64_t down,
              tile_args& args) noexcept;

// Fills strides and grid for tiles of the kernel's size. Blocks walk down a column of tiles first, so that consecutive
// blocks complete the same runs of dst. Returns false when the grid would be too large.
[[nodiscard]] bool number_tiles(const kernels::facts& known, const kernels::kernel& row, tile_args& args,
                                kernels::offer& made) noexcept;

// Makes tile_args, or fused_tile_args for a row "_fused", and numbers the tiles. Returns false when the row is not for
// fused axes, or only for them.
[[nodiscard]] bool place_tiles(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                               kernels::offer& made) noexcept;

// The offer for tiles with a short side of at most 128 bytes, in whole chunks of 16 bytes. `long_slot`, the grid's slot
// of the long side, is 0 for columns and 1 for rows. Axes such as a batch lengthen that side; `loose_side` gets its
// strides if it is not contiguous.
[[nodiscard]] bool offer_skinny_tiles(const kernels::facts& known, const kernels::target& on,
                                      const kernels::kernel& row, int long_slot, fused_tile_args& args,
                                      fused_axes& loose_side, kernels::offer& made) noexcept;

// Adds the axes that are neither rows nor columns.
void number_others(const map::canonical& form, const transpose_axes& axes, grid_builder& number) noexcept;

[[nodiscard]] std::string describe_grid(const grid& blocks);
[[nodiscard]] std::string describe_tile(const kernels::offer& made);

}  // namespace cornerturn::gpu
