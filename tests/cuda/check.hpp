// A pattern and its check on the device, for arrays that the host should not walk. They share nothing with the library:
// each element is found by dividing its number by the extents of the problem as given.
#pragma once

#include <cstdint>

#include "cornerturn/problem.hpp"

namespace cornerturn::testing {

// Effect  every byte of [memory, memory + bytes) is set from its position
void fill_with_pattern(void* memory, std::int64_t bytes);

struct verdict {
  std::uint64_t wrong = 0;  // elements of dst
  std::int64_t first = -1;  // one of them: its number, last axis fastest
};
// Requires  src_begin is where fill_with_pattern began; src and dst are the pointers that were moved
verdict check_moved(const problem& what, const void* src_begin, const void* src, const void* dst);

// Effect  bytes in [memory, memory + bytes) that are not `value`
std::uint64_t count_other_bytes(const void* memory, std::int64_t bytes, unsigned char value);

}  // namespace cornerturn::testing
