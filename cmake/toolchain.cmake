# ccache and mold where they are installed; no libraries that lack symbols; sanitizers and fuzzers'
# coverage for every target when asked for.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this sloppiness ccache caches nothing that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND FORESHARD_PRECOMPILED_HEADERS)
  # Likewise: a precompiled header whose time stamp ccache restores would not be accepted.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
# What a library lacks would be seen only when it is loaded. Clang leaves sanitizers' own symbols to the
# program that loads it.
if(NOT FORESHARD_SANITIZER AND NOT FORESHARD_FUZZ)
  string(APPEND CMAKE_SHARED_LINKER_FLAGS " -Wl,-z,defs")
  string(APPEND CMAKE_MODULE_LINKER_FLAGS " -Wl,-z,defs")
endif()
if(FORESHARD_SANITIZER)
  add_compile_options(-fsanitize=${FORESHARD_SANITIZER} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${FORESHARD_SANITIZER})
endif()
if(FORESHARD_FUZZ)
  set(FORESHARD_FUZZ_CHECKS address,undefined CACHE STRING "What fuzzers are compiled to notice; fewer run faster")
  add_compile_options(-fsanitize=fuzzer-no-link,${FORESHARD_FUZZ_CHECKS} -fno-sanitize-recover=all
                      -g1)
  add_link_options(-fsanitize=${FORESHARD_FUZZ_CHECKS})
endif()
