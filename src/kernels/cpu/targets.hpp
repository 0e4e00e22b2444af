// The SIMD targets that the CPU kernels are compiled for. Include this file before Highway.
//
// x86: SSE4 (2010), AVX2 and AVX-512, with every version of Highway. Newer versions have more targets above AVX-512, for
// Zen 4, for processors with FP16 and for AVX10.2. The kernels gain nothing from them, and each adds its share of the compile
// time. Two lower targets are left out: SSSE3, whose processors are out of use, and the emulated 128-bit target, which
// g++ 12.2 compiles wrongly (Highway disables it). Sanitizer builds compile fewer targets.
// Arm: NEON. SVE is off: the size of its vectors is unknown at compile time, so arrays cannot hold them, and blocks of
// 128 bits gain nothing from SVE.
//
// A build that defines HWY_DISABLED_TARGETS=0 has all of x86, for a comparison.
#pragma once

#if defined(__x86_64__) && !defined(HWY_BASELINE_TARGETS)
#define HWY_BASELINE_TARGETS HWY_SSE4
#endif
#ifndef HWY_DISABLED_TARGETS
#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_AVX3 - 1)  // a better target is a lower bit
#else
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#endif

// clang 22 no longer knows the target feature evex512, which Highway up to 1.3 names for AVX-512, and so drops the whole
// attribute: nothing compiles. Highway asks a version below 18 for no such name.
#if defined(__clang__) && __clang_major__ >= 22
#include <hwy/detect_compiler_arch.h>
#undef HWY_COMPILER_CLANG
#define HWY_COMPILER_CLANG 1700
#endif
