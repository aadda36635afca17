# Installs a build into a folder of its own and uses the program from there as a user would:
#   cmake -D BUILD=... -D FOLDER=... -D BINDIR=... -D DOCDIR=... -D MODULE=... -P install.cmake
# where the last three are paths within an installation, MODULE empty if there is none.
function(run_in_folder)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}: status ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "expected ${text} in:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
set(prefix ${FOLDER}/prefix)
run_in_folder(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(program ${prefix}/${BINDIR}/foreshard)

run_in_folder(${program} --version)
expect("^foreshard [0-9]+\\.[0-9]+\\.[0-9]+")
run_in_folder(${program} predict --model llama-3.1-8b
  --plan ${prefix}/${DOCDIR}/examples/full_checkpointing.toml --ranks 8 --machine h100-sxm)
expect("llama-3.1-8b on 8 ranks fits")
foreach(page README.md LICENSE NOTICE CHANGELOG.md glossary.md)
  if(NOT EXISTS ${prefix}/${DOCDIR}/${page})
    message(FATAL_ERROR "${page} is not installed")
  endif()
endforeach()
if(EXISTS ${prefix}/${BINDIR}/foreshard-gui)
  run_in_folder(${program}-gui --version)
  expect("^foreshard-gui [0-9]+\\.[0-9]+\\.[0-9]+")
endif()
if(MODULE AND NOT EXISTS ${prefix}/${MODULE})
  message(FATAL_ERROR "${MODULE} is not installed")
endif()
file(REMOVE_RECURSE ${FOLDER})
