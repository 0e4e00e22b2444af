# Install rules of the library, the CMake package, the pkg-config file and the .deb. cli/ installs the command.
include(CMakePackageConfigHelpers)

set(cornerturn_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cornerturn)

install(TARGETS cornerturn EXPORT cornerturnTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cornerturn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT cornerturnTargets NAMESPACE cornerturn:: DESTINATION ${cornerturn_cmake_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cornerturnConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cornerturnConfig.cmake INSTALL_DESTINATION ${cornerturn_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cornerturnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cornerturnConfig.cmake ${PROJECT_BINARY_DIR}/cornerturnConfigVersion.cmake
  DESTINATION ${cornerturn_cmake_dir})

# The .pc file names its prefix relative to itself, so an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
configure_file(${CMAKE_CURRENT_LIST_DIR}/cornerturn.pc.in ${PROJECT_BINARY_DIR}/cornerturn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cornerturn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The pages. A link to a file that is not installed becomes plain text.
file(GLOB_RECURSE pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/docs/learn/*.md)
foreach(page README.md CHANGELOG.md docs/cli.md docs/distributed.md docs/files.md docs/machines.md docs/counters.md docs/python.md docs/measuring.md ${pages})
  file(READ ${PROJECT_SOURCE_DIR}/${page} text)
  string(REGEX REPLACE
    "\\[([^]]*)\\]\\((\\.\\./)*(docs/)?(bench|examples|include|ladder|log|packaging|reports|src|CONTRIBUTING\\.md|HACKING\\.md|design\\.md)[^)]*\\)"
    "\\1" text "${text}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pages/${page} CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${page})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/pages/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/figures DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/learn DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs PATTERN "*.md" EXCLUDE)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()  # the other project makes its own package
endif()
set(CPACK_PACKAGE_NAME cornerturn)
set(CPACK_PACKAGE_VENDOR cornerturn)
set(CPACK_PACKAGE_CONTACT "the cornerturn developers <nobody@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)
find_program(DPKG_SHLIBDEPS_PROGRAM dpkg-shlibdeps)
if(DPKG_SHLIBDEPS_PROGRAM)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
