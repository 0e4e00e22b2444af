// Exercise 5: rung 40 stores pieces of 16 bytes into the tile. One padding element a row ends its bank conflicts, as in rung 30.
#pragma once

#include "40_vector_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct piece_padding : vector_conflicts<WordBytes> {
  using vector_conflicts<WordBytes>::side;
  static constexpr int pitch = side + 1;
  static constexpr int shared_bytes = side * pitch * WordBytes;

  RUNG_MAP int place(at e) { return (e.row * pitch + e.col) * WordBytes; }
};

}  // namespace cornerturn::ladder
