# Precompiled headers: parsing the standard library and GoogleTest would otherwise take a third of
# the time that compiling takes. Only headers of others are precompiled, so that no change of ours
# rebuilds everything. They also hide an #include that a file lacks: the lint job builds with
# -DFORESHARD_PRECOMPILED_HEADERS=OFF. ccache is told what it needs to cache them in toolchain.cmake.

# What most files of the project include. A longer list is not faster: to load one costs too.
set(FORESHARD_STANDARD_HEADERS
  <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map>
  <memory> <optional> <set> <span> <sstream> <string> <string_view> <unordered_map> <vector>
  <tl/expected.hpp>)

# foreshard_precompile(TARGET KIND HEADERS...): the first target of a kind compiles the headers, the
# others of its kind, which must be compiled with the same options, use what it compiled.
function(foreshard_precompile target kind)
  if(NOT FORESHARD_PRECOMPILED_HEADERS)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY FORESHARD_PRECOMPILED_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY FORESHARD_PRECOMPILED_${kind} ${target})
  endif()
endfunction()
