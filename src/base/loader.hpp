// Asks the loader whether this process has loaded more libraries.
#pragma once

namespace cornerturn::base {

// Returns a number that grows with each library that the process loads. It may be as old as a tick of the kernel's clock, at
// most 10 ms. Threads that call at once do not block each other
[[nodiscard]] unsigned long long libraries_loaded() noexcept;

}  // namespace cornerturn::base
