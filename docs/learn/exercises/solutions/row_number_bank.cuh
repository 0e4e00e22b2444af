// Solution 6: the bank is (pitch * r + c) mod 32. A pitch of 32 makes it c for the whole column. A pitch of 33 makes it r + c.
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct row_number_bank : load_conflicts<WordBytes> {
  static constexpr int pitch = 33;
  static constexpr int shared_bytes = 32 * pitch * WordBytes;

  RUNG_MAP int place(at e) { return (e.row * pitch + e.col) * WordBytes; }
};

}  // namespace cornerturn::ladder
