# cornerturn_need(NAME DEBIAN_PACKAGE [argument of find_package...])  finds a package, or ends with one sentence.
macro(cornerturn_need name debian)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "cornerturn needs ${name}, which CMake did not find. On Debian: apt-get install ${debian}. "
      "Elsewhere, set CMAKE_PREFIX_PATH to the folder where ${name} is installed.")
  endif()
endmacro()
