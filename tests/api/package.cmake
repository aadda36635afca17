# Installs the CMake package into a folder of its own, builds examples/cmake_package with nothing else of
# this project, and compares what it prints with what the program prints. Configures a project that has this
# one as a folder.
#   cmake -D BUILD=... -D FOLDER=... -D SOURCE=... -D GENERATOR=... -D COMPILER=... -D LIBRARY=... -D PROGRAM=...
#     -P package.cmake
if(NOT EXISTS ${LIBRARY} OR NOT EXISTS ${PROGRAM})
  message("${LIBRARY} or ${PROGRAM} is not built")
  return()
endif()

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}: status ${status}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# What the project printed last has the line "KEY VALUE" with what stands in the program's JSON.
function(expect key)
  string(JSON expected GET "${json}" ${ARGN})
  if(NOT "\n${printed}" MATCHES "\n${key} ${expected}\n")
    message(FATAL_ERROR "expected ${key} ${expected} in:\n${printed}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix --component dev)
file(GLOB headers RELATIVE ${FOLDER}/prefix/include ${FOLDER}/prefix/include/*)
if(NOT headers STREQUAL "foreshard")
  message(FATAL_ERROR "headers in ${headers}; expected them in foreshard/ alone")
endif()
file(COPY ${SOURCE}/examples/cmake_package DESTINATION ${FOLDER})
run(${CMAKE_COMMAND} -G ${GENERATOR} -S cmake_package -B build -D CMAKE_PREFIX_PATH=${FOLDER}/prefix
  -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build build)

# In another project's build.
file(WRITE ${FOLDER}/outer/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES CXX)
add_subdirectory(${SOURCE} foreshard EXCLUDE_FROM_ALL)
add_executable(outer ${SOURCE}/examples/cmake_package/allocator.cpp)
target_link_libraries(outer PRIVATE foreshard::allocator)
if(TARGET layering_test)
  message(FATAL_ERROR \"tests are built in another project\")
endif()")
run(${CMAKE_COMMAND} -G ${GENERATOR} -S outer -B outer/build -D CMAKE_CXX_COMPILER=${COMPILER}
  -D FORESHARD_CUDA=OFF -D FORESHARD_GUI=OFF -D FORESHARD_MPI=OFF)

set(plan ${SOURCE}/examples/torchtitan/llama3_8b.toml)
run(build/predict llama-3.1-8b 64 h100-sxm ${plan})
set(printed "${output}")
run(${PROGRAM} predict --model llama-3.1-8b --ranks 64 --machine h100-sxm --plan ${plan} --json -)
set(json "${output}")
expect(step_time_ns step_time_ns)
expect(peak_reserved_bytes ranks_memory 0 peak_reserved_bytes)

set(recording ${SOURCE}/traces/samples/drawn_gpu)
run(build/traces ${recording})
set(printed "${output}")
run(${PROGRAM} query ${recording} --json -
  "SELECT kind, sum(duration) FROM EVENTS WHERE device AND kind IN ('communication', 'compute') GROUP BY 1 ORDER BY 1")
set(json "${output}")
expect(communication rows 0 1)
expect(compute rows 1 1)

run(${PROGRAM} predict --model llama-3.2-1b --ranks 8 --machine h100-sxm --memory-events events.jsonl)
foreach(settings expandable_segments=true max_split_size_mb=64)
  run(build/allocator events.jsonl ${settings})
  set(printed "${output}")
  run(${PROGRAM} replay events.jsonl --allocator ${settings} --json -)
  set(json "${output}")
  foreach(key peak_allocated_bytes peak_reserved_bytes segments_allocated)
    expect(${key} ${key})
  endforeach()
endforeach()
file(REMOVE_RECURSE ${FOLDER})
