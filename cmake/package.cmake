# The CMake package `foreshard` (component dev): find_package(foreshard) gives foreshard::predict,
# foreshard::traces and foreshard::allocator. A Debian package of its own, foreshard-dev.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/foreshard)
install(TARGETS foreshard_api_allocator foreshard_api_traces foreshard_api_predict EXPORT foreshard-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev OPTIONAL
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(EXPORT foreshard-targets NAMESPACE foreshard:: DESTINATION ${package} COMPONENT dev)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/foreshard-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/foreshard-config.cmake ${PROJECT_BINARY_DIR}/foreshard-config-version.cmake
  DESTINATION ${package} COMPONENT dev)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME foreshard-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libsimdjson-dev, libsqlite3-dev, libyaml-cpp-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_DESCRIPTION "Headers and static libraries of Foreshard")
