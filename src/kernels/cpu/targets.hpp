// The SIMD targets that tile.cpp and swap.cpp are compiled for; to be included before Highway.
//
// x86: SSE4 (2010), AVX2, AVX-512. Less would be SSSE3, on processors that nobody has, and the emulated 128-bit target,
// which g++ 12.2 compiles wrongly (Highway turns it off). With sanitizers there are fewer. Arm: NEON. SVE is off: its
// vectors have no size that an array could hold, and blocks of 128 bits gain nothing from it.
#pragma once

#if defined(__x86_64__) && !defined(HWY_BASELINE_TARGETS)
#define HWY_BASELINE_TARGETS HWY_SSE4
#endif
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
