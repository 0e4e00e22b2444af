# cornerturn_native: with CORNERTURN_NATIVE, what compiles the CPU kernels for one SIMD target alone, the best of this
# machine; else empty. Highway sets the instruction set of each function, so -march is not needed.
add_library(cornerturn_native INTERFACE)
if(NOT CORNERTURN_NATIVE)
  return()
endif()
if(CMAKE_CROSSCOMPILING)
  message(FATAL_ERROR "CORNERTURN_NATIVE is ON in a cross build, wanted OFF: the SIMD target of this machine is unknown")
endif()

if(NOT DEFINED CORNERTURN_NATIVE_TARGET)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/native/target.cpp @ONLY CONTENT [[
#include "kernels/cpu/targets.hpp"  // before Highway
#include <hwy/targets.h>

#include <cstdio>

int main() {
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  if (usable == 0) return 1;
  std::puts(hwy::TargetName(usable & -usable));  // the lowest bit is the best target
}
]])
  try_run(native_result native_compiled ${PROJECT_BINARY_DIR}/native ${PROJECT_BINARY_DIR}/native/target.cpp
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src
    LINK_LIBRARIES hwy::hwy
    COMPILE_OUTPUT_VARIABLE native_report
    RUN_OUTPUT_VARIABLE native_target)
  set(native_result "${native_result}")
  set(native_compiled "${native_compiled}")
  unset(native_result CACHE)  # a failure is tried again
  unset(native_compiled CACHE)
  if(NOT native_compiled)
    message(FATAL_ERROR "CORNERTURN_NATIVE: the program that asks for the SIMD target does not compile:\n${native_report}")
  endif()
  if(NOT native_result EQUAL 0)
    message(FATAL_ERROR "CORNERTURN_NATIVE: this processor supports no SIMD target of the CPU kernels")
  endif()
  string(STRIP "${native_target}" native_target)
  set(CORNERTURN_NATIVE_TARGET ${native_target} CACHE INTERNAL "The best SIMD target of this machine")
endif()
message(STATUS "cornerturn: CPU kernels for ${CORNERTURN_NATIVE_TARGET} alone")
target_compile_definitions(cornerturn_native INTERFACE
  HWY_BASELINE_TARGETS=HWY_${CORNERTURN_NATIVE_TARGET} HWY_COMPILE_ONLY_STATIC)
# g++ does not warn about code that a system header includes, such as all targets but the last in other builds.
target_compile_options(cornerturn_native INTERFACE -Wno-psabi -Wno-shadow)
