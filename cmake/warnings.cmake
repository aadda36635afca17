# foreshard_warnings: the warnings every target of ours is compiled with, as errors. Without
# -Wrestrict: g++ 12 reports impossible overlaps in std::string's operator+ (GCC bug 105651).
add_library(foreshard_warnings INTERFACE)
target_compile_options(foreshard_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  $<$<CXX_COMPILER_ID:GNU>:-Werror>)  # clang, which builds the fuzzers, only warns

# foreshard_library(NAME SOURCES... [DEPENDS targets] [PRIVATE_DEPENDS targets])
# A folder's library: its headers are included by their path from the project's root.
function(foreshard_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE foreshard_warnings ${ARG_PRIVATE_DEPENDS})
endfunction()
