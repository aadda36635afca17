# Toolchain file: the clang that has libFuzzer, by whatever name it is installed. CMake reads such a
# file for every check of the compiler, so that the search is remembered.
if(NOT DEFINED ENV{FORESHARD_CLANG})
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/find_clang
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(ENV{FORESHARD_CLANG} ${found})
endif()
set(CMAKE_CXX_COMPILER $ENV{FORESHARD_CLANG})
