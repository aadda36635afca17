# stand_in_driver: a libcuda.so.1 with every call of the toolkit's stub library. Those that stand_in_driver.cpp does
# not define answer CUDA_ERROR_STUB_LIBRARY, as the stub library itself does where nothing is to be loaded.
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/cudnn)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/stand_in_driver_calls.cpp)
execute_process(COMMAND ${CMAKE_NM} -D --defined-only --format=posix ${CUDA_DRIVER_STUB}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "cu[A-Z][A-Za-z0-9_]* T" symbols "${symbols}")
file(READ ${folder}/stand_in_driver.cpp defined)
set(calls "")
foreach(symbol IN LISTS symbols)
  string(REPLACE " T" "" symbol ${symbol})
  if(NOT defined MATCHES "Result ${symbol}\\(")
    string(APPEND calls "int ${symbol}() { return 34; }\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${generated} CONTENT "extern \"C\" {\n@calls@}\n" @ONLY)

add_library(stand_in_driver SHARED ${folder}/stand_in_driver.cpp ${generated})
set_target_properties(stand_in_driver PROPERTIES
  UNITY_BUILD OFF OUTPUT_NAME cuda SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/stand_in_driver)
