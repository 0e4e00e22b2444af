# Looks for nvcc and sets CORNERTURN_HAS_CUDA. With nvcc it enables the CUDA language and defines CUDA::cudart_static
# and the target cornerturn_cuda_flags.
set(CORNERTURN_HAS_CUDA OFF)
set(lowest_nvcc 12.0)

if(CORNERTURN_CUDA STREQUAL "AUTO" AND (CMAKE_CROSSCOMPILING OR CORNERTURN_HIP STREQUAL "ON"))
  set(CORNERTURN_CUDA_WANTED OFF)
else()
  set(CORNERTURN_CUDA_WANTED ${CORNERTURN_CUDA})
endif()
if(NOT CORNERTURN_CUDA_WANTED)
  return()
endif()

# The version is checked before CMake tries the compiler: an old compiler is no error under AUTO.
find_program(CORNERTURN_NVCC nvcc HINTS ${CMAKE_CUDA_COMPILER} $ENV{CUDACXX} $ENV{CUDA_PATH}/bin $ENV{CUDA_HOME}/bin
  PATHS /usr/local/cuda/bin)
mark_as_advanced(CORNERTURN_NVCC)
set(nvcc_version 0)
if(CMAKE_CUDA_COMPILER)
  set(CORNERTURN_NVCC ${CMAKE_CUDA_COMPILER})
endif()
if(CORNERTURN_NVCC)
  execute_process(COMMAND ${CORNERTURN_NVCC} --version OUTPUT_VARIABLE said ERROR_QUIET)
  if(said MATCHES "release ([0-9]+\\.[0-9]+)")
    set(nvcc_version ${CMAKE_MATCH_1})
  endif()
endif()
if(nvcc_version VERSION_LESS lowest_nvcc)
  if(CORNERTURN_CUDA_WANTED STREQUAL "AUTO")
    message(STATUS "No nvcc ${lowest_nvcc} or newer: no CUDA kernels")
    return()
  endif()
  message(FATAL_ERROR "CORNERTURN_CUDA is ON, but nvcc ${lowest_nvcc} or newer was not found. "
    "Found: '${CORNERTURN_NVCC}', version ${nvcc_version}. Set CMAKE_CUDA_COMPILER or PATH")
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(CMAKE_CUDA_COMPILER ${CORNERTURN_NVCC} CACHE FILEPATH "")
endif()
# One architecture is enough to develop and to test; the preset `release` has all.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "")
  else()
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
endif()
enable_language(CUDA)
find_package(CUDAToolkit ${lowest_nvcc} REQUIRED)
set(CORNERTURN_HAS_CUDA ON)
message(STATUS "cornerturn: CUDA ${nvcc_version} for ${CMAKE_CUDA_ARCHITECTURES}")

# -std: CMake 3.25 does not know that nvcc 13 has C++20. -Wpedantic and -Wconversion would warn about code that nvcc
# generates. Spilled registers are a defect with nvcc 13, for which the limits of the rows were chosen: they cause a warning,
# and tools/check_spills fails. nvcc 12.4 spills a few bytes in two rows. Diagnostic 128 reports a loop behind an `if constexpr`
# that returned. Kernels of one family are similar: --compress-mode=size of nvcc 13 packs them to a third.
add_library(cornerturn_cuda_flags INTERFACE)
target_compile_options(cornerturn_cuda_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:
  -std=c++20 -lineinfo --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wshadow
  $<$<VERSION_GREATER_EQUAL:${nvcc_version},13.0>:-Xptxas=-warn-spills,-warn-lmem-usage>
  --diag-suppress=128
  $<$<VERSION_GREATER_EQUAL:${nvcc_version},13.0>:--compress-mode=size>
  $<$<BOOL:${CORNERTURN_WERROR}>:-Werror=all-warnings>>)

# The ptxas report of each kernel is kept beside its object, in FILE.cu.o.ptxas. tools/check_spills reads it.
function(cornerturn_keep_ptxas_reports target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
  # This is a list: an empty launcher in a string would add an empty argument.
  set(launchers ${PROJECT_SOURCE_DIR}/tools/keep_ptxas_report ${CMAKE_CUDA_COMPILER_LAUNCHER})
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launchers}")
endfunction()
