// Exercise 6: "an element of column c is in bank r, its row number, so a column has no bank conflicts." Is that so here?
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct row_number_bank : load_conflicts<WordBytes> {
  static constexpr int pitch = 32;
  static constexpr int shared_bytes = 32 * pitch * WordBytes;

  RUNG_MAP int place(at e) { return (e.row * pitch + e.col) * WordBytes; }
};

}  // namespace cornerturn::ladder
