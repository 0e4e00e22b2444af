// Solution 5: a piece of 16 bytes must start at a multiple of 16. So the padding is one piece for every `width` rows. A warp
// gathers a column from rows that are `width` apart, and each of them is then one piece, 4 banks, further.
#pragma once

#include "40_vector_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct piece_padding : vector_conflicts<WordBytes> {
  using base = vector_conflicts<WordBytes>;
  static constexpr int shared_bytes = base::side * base::side * WordBytes + base::side / base::width * 16;

  RUNG_MAP int place(at e) { return (e.row * base::side + e.col + e.row / base::width * base::width) * WordBytes; }
};

}  // namespace cornerturn::ladder
