# The oldest and the newest version of each library that tools/try_distribution built and tested this tree with.
set(versions_of_hwy 1.0.3 1.3.0)
set(versions_of_fmt 9.1.0 11.1.1)
set(versions_of_CLI11 2.1.2 2.6.1)
set(versions_of_nlohmann_json 3.11.2 3.11.3)

# cornerturn_need(NAME DEBIAN_PACKAGE [argument of find_package...])  finds a package, or ends with one sentence. A version
# older than the oldest above is an error; one newer than the newest is only named.
macro(cornerturn_need name debian)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "cornerturn needs ${name}, which CMake did not find. On Debian: apt-get install ${debian}. "
      "Elsewhere, set CMAKE_PREFIX_PATH to the folder where ${name} is installed.")
  endif()
  if(DEFINED versions_of_${name} AND DEFINED ${name}_VERSION)
    list(GET versions_of_${name} 0 oldest)
    list(GET versions_of_${name} 1 newest)
    if(${name}_VERSION VERSION_LESS oldest)
      message(FATAL_ERROR "cornerturn needs ${name} ${oldest} or newer, but CMake found ${name} ${${name}_VERSION} in "
        "${${name}_DIR}. Set CMAKE_PREFIX_PATH to the folder where a newer one is installed.")
    elseif(${name}_VERSION VERSION_GREATER newest)
      message(STATUS "cornerturn: ${name} ${${name}_VERSION} is newer than ${newest}, the newest one tested")
    endif()
  endif()
endmacro()
