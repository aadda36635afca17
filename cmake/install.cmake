# What an installation has: the program, the modules that it loads, completion for shells, manual
# pages, plans to start from, pages to read, the viewer where it was built (gui/CMakeLists.txt), and the
# CMake package (cmake/package.cmake); and packages of it (`cpack`): an archive and Debian packages.
install(TARGETS foreshard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(module foreshard_cuda foreshard_cudnn foreshard_cupti foreshard_cupti12 foreshard_injection foreshard_mpi
    foreshard_rehearsal_device)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${FORESHARD_INSTALL_MODULE_DIR})
  endif()
endforeach()
install(DIRECTORY profiler/hooks/
  DESTINATION ${FORESHARD_INSTALL_MODULE_DIR}/hooks FILES_MATCHING PATTERN "*.py")

# The program writes its completion scripts itself.
set(completion ${PROJECT_BINARY_DIR}/completion)
set(scripts)
foreach(shell bash zsh fish)
  add_custom_command(OUTPUT ${completion}/foreshard.${shell}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
    COMMAND foreshard completion ${shell} > ${completion}/foreshard.${shell}
    DEPENDS foreshard VERBATIM)
  list(APPEND scripts ${completion}/foreshard.${shell})
endforeach()
add_custom_target(completion ALL DEPENDS ${scripts})
add_dependencies(completion man)
# Optional: a build of the program alone has none of them.
install(DIRECTORY ${PROJECT_BINARY_DIR}/cli/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL
  FILES_MATCHING PATTERN "*.1")
install(FILES ${completion}/foreshard.bash RENAME foreshard OPTIONAL
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completion}/foreshard.zsh RENAME _foreshard OPTIONAL
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completion}/foreshard.fish OPTIONAL
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Pages lie as they do here, so that their links hold.
install(FILES README.md LICENSE NOTICE CHANGELOG.md CONTRIBUTING.md SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES traces/QUERIES.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/traces)
install(FILES simulator/api/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/simulator/api)
foreach(folder cli executor gui models profiler python scripts simulator tests traces)
  install(FILES ${folder}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Where Debian's packages have it.
install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/foreshard)
install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/foreshard-dev COMPONENT dev)
if(TARGET foreshard-gui)
  install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/foreshard-gui COMPONENT gui)
endif()

set(CPACK_GENERATOR TGZ)
find_program(FORESHARD_FILE file)
find_program(FORESHARD_SHLIBDEPS dpkg-shlibdeps)
if(FORESHARD_FILE AND FORESHARD_SHLIBDEPS)  # the package's dependencies are found with both
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_VENDOR "Foreshard")
set(CPACK_PACKAGE_CONTACT "the Foreshard developers")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME foreshard-${PROJECT_VERSION}-Linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# No package brings CUDA 12's CUPTI: its name is there (profiler/record/cupti).
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/bin
  ${PROJECT_BINARY_DIR}/profiler/record/cupti/cuda12)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS openmpi-bin)
# The viewer is a package of its own, so that machines without a display need no Qt.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME foreshard)
if(TARGET foreshard-gui)
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS foreshard-gui)
  set(CPACK_DEBIAN_GUI_PACKAGE_NAME foreshard-gui)
  set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS foreshard)
  set(CPACK_DEBIAN_GUI_DESCRIPTION "Viewer of Foreshard's recordings and predictions")
endif()
include(cmake/package.cmake)
include(CPack)
