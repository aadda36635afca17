# foreshard_warnings: the warnings every target of ours is compiled with. Without -Wrestrict: g++ 12
# reports impossible overlaps in std::string's operator+ (GCC bug 105651). With precompiled headers it
# also forgets that std::string's own code is a system header's, and reports impossible sizes there.
add_library(foreshard_warnings INTERFACE)
target_compile_options(foreshard_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  $<$<BOOL:${FORESHARD_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(foreshard_warnings INTERFACE -Wno-restrict)
  if(CMAKE_UNITY_BUILD)  # takes the parts of a batch for headers
    target_compile_options(foreshard_warnings INTERFACE -Wno-subobject-linkage)
  endif()
  # Under sanitizers <regex> and a std::optional with a value are reported (GCC bug 105562).
  if(FORESHARD_SANITIZER MATCHES "address|thread")
    target_compile_options(foreshard_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
  if(FORESHARD_PRECOMPILED_HEADERS)
    target_compile_options(foreshard_warnings INTERFACE
      -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()

# foreshard_library(NAME SOURCES... [DEPENDS targets] [PRIVATE_DEPENDS targets])
# A folder's library: its headers are included by their path from the project's root.
function(foreshard_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE foreshard_warnings ${ARG_PRIVATE_DEPENDS})
  foreshard_precompile(${name} library ${FORESHARD_STANDARD_HEADERS})
endfunction()

# foreshard_optimize_less(TARGET): -O1 in a release build, for code that is generated much and run
# little: the time such a build takes goes into it, and -O3 makes nothing quicker that anybody waits for.
function(foreshard_optimize_less target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
