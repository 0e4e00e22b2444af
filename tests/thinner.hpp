// Slow builds keep one problem in so many of the long lists: CORNERTURN_TEST_THIN, which the test presets set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace cornerturn::testing {

inline int thinner() {
  const char* const wanted = std::getenv("CORNERTURN_TEST_THIN");
  return wanted == nullptr ? 1 : std::max(1, std::atoi(wanted));
}

// Whether such a build keeps the one of a list with this number.
inline bool keeps(std::int64_t number) { return number % thinner() == 0; }

}  // namespace cornerturn::testing
