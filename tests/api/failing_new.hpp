// An operator new that fails when it is told to. A program with failing_new.cpp has no other.
#pragma once

#include <atomic>

namespace cornerturn::testing {

extern std::atomic<long> allocations_left;  // until one fails; negative: none fails
extern std::atomic<bool> all_later_ones_fail;

}  // namespace cornerturn::testing
