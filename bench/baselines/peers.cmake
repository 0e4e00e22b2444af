# Links the peers that CMake finds, and prints their names. A peer is one source file and one definition.
set(cornerturn_peers_found "")

function(cornerturn_peer name definition libraries includes)
  target_sources(cornerturn_bench PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name}.cpp)
  target_compile_definitions(cornerturn_bench PRIVATE ${definition})
  target_link_libraries(cornerturn_bench PRIVATE ${libraries})
  target_include_directories(cornerturn_bench SYSTEM PRIVATE ${includes})
  set(cornerturn_peers_found "${cornerturn_peers_found} ${name}" PARENT_SCOPE)
endfunction()

find_library(CORNERTURN_OPENBLAS_LIBRARY openblas)
find_path(CORNERTURN_OPENBLAS_INCLUDE openblas_config.h PATH_SUFFIXES openblas openblas-pthread)
if(CORNERTURN_OPENBLAS_LIBRARY AND CORNERTURN_OPENBLAS_INCLUDE)
  cornerturn_peer(openblas CORNERTURN_BENCH_OPENBLAS ${CORNERTURN_OPENBLAS_LIBRARY} ${CORNERTURN_OPENBLAS_INCLUDE})
endif()

find_package(Eigen3 QUIET NO_MODULE)
find_package(Threads QUIET)
if(TARGET Eigen3::Eigen AND TARGET Threads::Threads)
  get_target_property(eigen_include Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
  cornerturn_peer(eigen CORNERTURN_BENCH_EIGEN Threads::Threads ${eigen_include})
endif()

find_library(CORNERTURN_FFTW_LIBRARY fftw3)
find_library(CORNERTURN_FFTWF_LIBRARY fftw3f)
find_path(CORNERTURN_FFTW_INCLUDE fftw3.h)
if(CORNERTURN_FFTW_LIBRARY AND CORNERTURN_FFTWF_LIBRARY AND CORNERTURN_FFTW_INCLUDE)
  cornerturn_peer(fftw CORNERTURN_BENCH_FFTW "${CORNERTURN_FFTW_LIBRARY};${CORNERTURN_FFTWF_LIBRARY}"
                  ${CORNERTURN_FFTW_INCLUDE})
endif()

find_library(CORNERTURN_ONEDNN_LIBRARY dnnl)
find_path(CORNERTURN_ONEDNN_INCLUDE dnnl.hpp)
find_package(OpenMP COMPONENTS CXX)  # sets the number of oneDNN's threads
if(CORNERTURN_ONEDNN_LIBRARY AND CORNERTURN_ONEDNN_INCLUDE AND OpenMP_CXX_FOUND)
  cornerturn_peer(onednn CORNERTURN_BENCH_ONEDNN ${CORNERTURN_ONEDNN_LIBRARY} ${CORNERTURN_ONEDNN_INCLUDE})
  target_link_libraries(cornerturn_bench PRIVATE OpenMP::OpenMP_CXX)
endif()

# HPTT is in no distribution: point CMAKE_PREFIX_PATH at its tree (include/hptt.h, lib/libhptt.*).
find_library(CORNERTURN_HPTT_LIBRARY hptt)
find_path(CORNERTURN_HPTT_INCLUDE hptt.h)
if(CORNERTURN_HPTT_LIBRARY AND CORNERTURN_HPTT_INCLUDE)
  cornerturn_peer(hptt CORNERTURN_BENCH_HPTT ${CORNERTURN_HPTT_LIBRARY} ${CORNERTURN_HPTT_INCLUDE})
endif()

# cornerturn_mpi_bench: distributed transposes, under mpirun. Its peers must be of the MPI that CMake found.
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  add_executable(cornerturn_mpi_bench ${CMAKE_CURRENT_LIST_DIR}/../mpi/main.cpp)
  set_target_properties(cornerturn_mpi_bench PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(cornerturn_mpi_bench PRIVATE cornerturn cornerturn_flags MPI::MPI_CXX)
  target_include_directories(cornerturn_mpi_bench PRIVATE ${PROJECT_SOURCE_DIR}/src)  # base/numbers.hpp
  target_compile_definitions(cornerturn_mpi_bench PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  find_library(CORNERTURN_SCALAPACK_LIBRARY NAMES scalapack-openmpi scalapack)
  if(CORNERTURN_SCALAPACK_LIBRARY)
    target_compile_definitions(cornerturn_mpi_bench PRIVATE CORNERTURN_BENCH_SCALAPACK)
    target_link_libraries(cornerturn_mpi_bench PRIVATE ${CORNERTURN_SCALAPACK_LIBRARY})
    set(cornerturn_peers_found "${cornerturn_peers_found} scalapack")
  endif()
  find_library(CORNERTURN_FFTW_MPI_LIBRARY fftw3_mpi)
  find_library(CORNERTURN_FFTWF_MPI_LIBRARY fftw3f_mpi)
  find_path(CORNERTURN_FFTW_MPI_INCLUDE fftw3-mpi.h)
  if(CORNERTURN_FFTW_MPI_LIBRARY AND CORNERTURN_FFTWF_MPI_LIBRARY AND CORNERTURN_FFTW_MPI_INCLUDE AND CORNERTURN_FFTW_LIBRARY
     AND CORNERTURN_FFTWF_LIBRARY)
    target_compile_definitions(cornerturn_mpi_bench PRIVATE CORNERTURN_BENCH_FFTW_MPI)
    target_link_libraries(cornerturn_mpi_bench PRIVATE ${CORNERTURN_FFTW_MPI_LIBRARY} ${CORNERTURN_FFTWF_MPI_LIBRARY}
      ${CORNERTURN_FFTW_LIBRARY} ${CORNERTURN_FFTWF_LIBRARY})
    target_include_directories(cornerturn_mpi_bench SYSTEM PRIVATE ${CORNERTURN_FFTW_MPI_INCLUDE})
    set(cornerturn_peers_found "${cornerturn_peers_found} fftw-mpi")
  endif()
  # COSTA is in no distribution: point CMAKE_PREFIX_PATH at the prefix of its `cmake --install`.
  find_package(costa QUIET CONFIG)
  if(TARGET costa::costa)
    target_compile_definitions(cornerturn_mpi_bench PRIVATE CORNERTURN_BENCH_COSTA)
    target_link_libraries(cornerturn_mpi_bench PRIVATE costa::costa)
    set(cornerturn_peers_found "${cornerturn_peers_found} costa")
  endif()
endif()

message(STATUS "cornerturn bench peers:${cornerturn_peers_found}")
