// The arguments of a rung for a shape. The launcher and the model both use them.
#pragma once

#include "facts.hpp"
#include "rung.hpp"

namespace cornerturn::ladder {

template <class Rung>
arguments arguments_for(const void* src, void* dst, matrix_shape shape) {
  if (Rung::is_copy) shape = {1, shape.rows * shape.cols * shape.batch, 1};  // one long row
  const auto tiles = [](std::int64_t extent, int of) { return static_cast<std::uint32_t>((extent + of - 1) / of); };
  return {
      static_cast<const unsigned char*>(src), static_cast<unsigned char*>(dst),  shape.rows, shape.cols, shape.batch,
      tiles(shape.rows, Rung::tile_rows),     tiles(shape.cols, Rung::tile_cols)};
}

}  // namespace cornerturn::ladder
