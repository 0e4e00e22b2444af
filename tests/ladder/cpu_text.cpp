// The text of the CPU's rungs for cpu_lines.cpp. The compiler inserts a call at each load and store (CMakeLists.txt). It inserts
// none at a non-temporal store, so a function replaces that.
#include "cpu_text.hpp"

#include <emmintrin.h>

namespace cornerturn::ladder {
namespace {

[[gnu::noinline, gnu::no_sanitize("thread")]] void logged_stream(__m128i* to, __m128i value) {
  seen_stream(to);
  *to = value;
}

}  // namespace
}  // namespace cornerturn::ladder

#define _mm_stream_si128 logged_stream
#include "ladder/cpu.cpp"
