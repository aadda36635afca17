# Programs for older systems than the one they are built on (scripts/release): FORESHARD_PORTABLE_ROOT is a
# folder with an older glibc, as its packages lay it out, and simdjson as an archive. What is built links
# against that glibc and contains every other library, the C++ runtime too.
set(FORESHARD_PORTABLE_ROOT "" CACHE PATH "Link against the glibc in this folder, and the rest statically")
if(NOT FORESHARD_PORTABLE_ROOT)
  return()
endif()
set(folder ${FORESHARD_PORTABLE_ROOT}/usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
if(NOT EXISTS ${folder}/libc.so)
  message(FATAL_ERROR "FORESHARD_PORTABLE_ROOT: ${folder}/libc.so is not there; expected what scripts/release makes")
endif()
# Debian's g++ looks into --sysroot last, and -B and -L first.
add_link_options(--sysroot=${FORESHARD_PORTABLE_ROOT} -B${folder}/ -L${folder} -static-libstdc++ -static-libgcc)

# Nothing is looked for where it was built.
set(CMAKE_SKIP_RPATH ON)

function(foreshard_link_archive target archive)
  if(NOT EXISTS ${archive})
    message(FATAL_ERROR "${archive} is not there; a portable build contains it")
  endif()
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${archive})
  endforeach()
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${archive})
endfunction()
set(system /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
foreshard_link_archive(yaml-cpp ${system}/libyaml-cpp.a)
foreshard_link_archive(simdjson::simdjson ${FORESHARD_PORTABLE_ROOT}/libsimdjson.a)
foreshard_link_archive(SQLite::SQLite3 ${system}/libsqlite3.a)
foreshard_link_archive(ZLIB::ZLIB ${system}/libz.a)

add_library(foreshard_old_glibc OBJECT ${CMAKE_CURRENT_LIST_DIR}/portable/old_glibc.cpp)

# foreshard_make_portable(TARGETS...): those of them that are built.
function(foreshard_make_portable)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      # Threads and dlopen are libraries of their own there.
      target_link_libraries(${target} PRIVATE foreshard_old_glibc pthread dl)
    endif()
  endforeach()
endfunction()

# The licences of what it contains, as the packages that it comes from have them.
foreach(package libyaml-cpp-dev libsimdjson-dev libsqlite3-dev zlib1g-dev libcli11-dev libtomlplusplus-dev
    nlohmann-json3-dev libexpected-dev libboost1.74-dev libeigen3-dev libstdc++-12-dev)
  file(REAL_PATH /usr/share/doc/${package}/copyright licence)
  if(NOT EXISTS ${licence})
    message(FATAL_ERROR "${licence} is not there; a portable build installs it")
  endif()
  install(FILES ${licence} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME ${package}.txt)
endforeach()
