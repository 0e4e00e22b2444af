// Solution 9: the lanes of a warp must be neighbours in a row of src when they load, and in a row of dst when they store.
#pragma once

#include "30_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct profiler : padded<WordBytes> {
  RUNG_MAP at read(int thread, int step) { return {step * 8 + thread / 32, thread % 32}; }
  RUNG_MAP at write(int thread, int step) { return {thread % 32, step * 8 + thread / 32}; }
};

}  // namespace cornerturn::ladder
