# Finds hipcc and sets CORNERTURN_HAS_HIP. Defines the target cornerturn_hip, the HIP runtime for host code, and the function
# cornerturn_hip_sources. A build has CUDA or HIP, never both; under AUTO, CUDA comes first.
#
# A custom command calls hipcc. CMake 3.25 finds its HIP language in AMD's packages only, not in Debian's.
set(CORNERTURN_HAS_HIP OFF)
set(lowest_hip 5.2)

if(CORNERTURN_HIP STREQUAL "AUTO")
  if(CMAKE_CROSSCOMPILING OR CORNERTURN_HAS_CUDA)
    return()
  endif()
elseif(NOT CORNERTURN_HIP)
  return()
endif()
if(CORNERTURN_HAS_CUDA)
  message(FATAL_ERROR "A build has CUDA or HIP, not both: set CORNERTURN_CUDA or CORNERTURN_HIP to OFF, "
    "and build twice for both")
endif()

find_program(CORNERTURN_HIPCC hipcc HINTS $ENV{HIP_PATH}/bin $ENV{ROCM_PATH}/bin PATHS /opt/rocm/bin)
mark_as_advanced(CORNERTURN_HIPCC)
set(hip_version 0)
if(CORNERTURN_HIPCC)
  execute_process(COMMAND ${CORNERTURN_HIPCC} --version OUTPUT_VARIABLE said ERROR_QUIET)
  if(said MATCHES "HIP version: ([0-9]+\\.[0-9]+)")
    set(hip_version ${CMAKE_MATCH_1})
  endif()
  get_filename_component(hip_root ${CORNERTURN_HIPCC} REALPATH)
  cmake_path(GET hip_root PARENT_PATH hip_root)
  cmake_path(GET hip_root PARENT_PATH hip_root)
endif()
set(hip_roots ${hip_root} $ENV{HIP_PATH} $ENV{ROCM_PATH} /opt/rocm)
find_path(CORNERTURN_HIP_INCLUDE hip/hip_runtime_api.h HINTS ${hip_roots} PATH_SUFFIXES include)
find_library(CORNERTURN_HIP_RUNTIME amdhip64 HINTS ${hip_roots} PATH_SUFFIXES lib)
mark_as_advanced(CORNERTURN_HIP_INCLUDE CORNERTURN_HIP_RUNTIME)
if(hip_version VERSION_LESS lowest_hip OR NOT CORNERTURN_HIP_INCLUDE OR NOT CORNERTURN_HIP_RUNTIME)
  if(CORNERTURN_HIP STREQUAL "AUTO")
    message(STATUS "No hipcc ${lowest_hip} or newer with its run time: no HIP")
    return()
  endif()
  message(FATAL_ERROR "CORNERTURN_HIP is ON, but hipcc ${lowest_hip} or newer with hip/hip_runtime_api.h and libamdhip64 "
    "was not found. Found: '${CORNERTURN_HIPCC}', version ${hip_version}, '${CORNERTURN_HIP_INCLUDE}', "
    "'${CORNERTURN_HIP_RUNTIME}'. Set PATH or ROCM_PATH; Debian's packages are hipcc, libamdhip64-dev, rocm-device-libs")
endif()

set(CORNERTURN_HIP_ARCHITECTURES gfx90a gfx1030 CACHE STRING "The AMD GPUs to compile for")
set(CORNERTURN_HAS_HIP ON)
message(STATUS "cornerturn: HIP ${hip_version} for ${CORNERTURN_HIP_ARCHITECTURES}")

add_library(cornerturn_hip INTERFACE)
target_include_directories(cornerturn_hip SYSTEM INTERFACE ${CORNERTURN_HIP_INCLUDE})
target_compile_definitions(cornerturn_hip INTERFACE CORNERTURN_HIP __HIP_PLATFORM_AMD__)
target_link_libraries(cornerturn_hip INTERFACE ${CORNERTURN_HIP_RUNTIME})

set(hip_flags -x hip -std=c++20 -O3 -Wall -Wextra -Wshadow $<$<BOOL:${CORNERTURN_WERROR}>:-Werror>
  -Rpass-analysis=kernel-resource-usage -DCORNERTURN_HIP -D__HIP_PLATFORM_AMD__
  -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include)

# cornerturn_hip_rule(OUTPUT source COMMENT command...): compiles the source to OUTPUT and writes the compiler's remarks on
# each kernel's registers to OUTPUT.resources, for tools/check_hip.
function(cornerturn_hip_rule output source comment)
  get_filename_component(folder ${output} DIRECTORY)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${PROJECT_SOURCE_DIR}/tools/keep_hip_report ${ARGN} ${hip_flags} -MD -MF ${output}.d
      ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${output}
    BYPRODUCTS ${output}.resources
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/tools/keep_hip_report
    DEPFILE ${output}.d
    COMMENT "${comment}"
    COMMAND_EXPAND_LISTS
    VERBATIM)
endfunction()

# cornerturn_hip_sources(TARGET file.cu...): compiles each file with hipcc into TARGET.
function(cornerturn_hip_sources target)
  list(TRANSFORM CORNERTURN_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE architectures)
  foreach(source ${ARGN})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/hip/${source}.o)
    cornerturn_hip_rule(${object} ${source} "Building HIP object ${source}.o" ${CORNERTURN_HIPCC} ${architectures} -g1 -fPIC -c)
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
endfunction()

# cornerturn_hip_device_code(file.cu): compiles its device code to assembler for the GPUs of CORNERTURN_HIP_DEVICE_ONLY, to
# check the instructions and the compiler's remarks. Nothing is linked. clang++ 19 compiles for GPUs that hipcc's device
# libraries lack, hipcc for CORNERTURN_HIP_ARCHITECTURES.
set(CORNERTURN_HIP_DEVICE_ONLY "" CACHE STRING "AMD GPUs whose device code is compiled to assembler and not linked")
function(cornerturn_hip_device_code source)
  if(NOT CORNERTURN_HIP_DEVICE_ONLY)
    return()
  endif()
  find_program(CORNERTURN_HIP_CLANG clang++-19 REQUIRED)
  find_path(CORNERTURN_HIP_BITCODE ockl.bc REQUIRED HINTS ${hip_root}
    PATH_SUFFIXES amdgcn/bitcode lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode)
  set(made "")
  foreach(architecture ${CORNERTURN_HIP_DEVICE_ONLY})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/hip/${source}.${architecture}.s)
    set(compiler ${CORNERTURN_HIP_CLANG} -nogpulib -idirafter ${CORNERTURN_HIP_INCLUDE}
      -Xclang -mlink-builtin-bitcode -Xclang ${CORNERTURN_HIP_BITCODE}/hip.bc
      -Xclang -mlink-builtin-bitcode -Xclang ${CORNERTURN_HIP_BITCODE}/ockl.bc)
    if(architecture IN_LIST CORNERTURN_HIP_ARCHITECTURES)
      set(compiler ${CORNERTURN_HIPCC} -Wno-unused-command-line-argument)  # hipcc names libraries nevertheless
    endif()
    cornerturn_hip_rule(${output} ${source} "Compiling ${source} for ${architecture}" ${compiler}
      --offload-arch=${architecture} --cuda-device-only -S)
    list(APPEND made ${output})
  endforeach()
  add_custom_target(cornerturn_hip_device_code ALL DEPENDS ${made})
endfunction()
