# FORESHARD_CUDNN_INCLUDES: where cudnn.h and cudnn-frontend's headers are, if attention by cuDNN is built.
# Debian has no package of cudnn-frontend; its headers (MIT) are in its wheel on PyPI, from which they are
# taken once. Without them, or without cuDNN, attention is the plain kernel.
if(NOT FORESHARD_HAS_CUDA OR NOT FORESHARD_CUDNN)
  return()
endif()
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)
  message(STATUS "attention by cuDNN is left out: no cuDNN")
  return()
endif()
set(CUDNN_FRONTEND_INCLUDE_DIR "" CACHE PATH "Headers of cudnn-frontend, if they are not to be fetched")
if(NOT CUDNN_FRONTEND_INCLUDE_DIR)
  set(folder ${PROJECT_BINARY_DIR}/cudnn-frontend)
  if(NOT EXISTS ${folder}/include/cudnn_frontend.h)
    set(files https://files.pythonhosted.org/packages)
    file(DOWNLOAD
      ${files}/11/02/660e2dd9f9d9f940e1641443771730612c3aadaafbc5ef7a93cc313d519d/nvidia_cudnn_frontend-1.32.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
      ${folder}/wheel.zip
      EXPECTED_HASH SHA256=c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0
      INACTIVITY_TIMEOUT 20 STATUS status)
    list(GET status 0 failed)
    if(failed)
      list(GET status 1 why)
      file(REMOVE_RECURSE ${folder})
      message(STATUS "attention by cuDNN is left out: cudnn-frontend cannot be fetched (${why})")
      return()
    endif()
    file(ARCHIVE_EXTRACT INPUT ${folder}/wheel.zip DESTINATION ${folder} PATTERNS include/*)
    file(REMOVE ${folder}/wheel.zip)
  endif()
  set(CUDNN_FRONTEND_INCLUDE_DIR ${folder}/include)
endif()
set(FORESHARD_CUDNN_INCLUDES ${CUDNN_INCLUDE_DIR} ${CUDNN_FRONTEND_INCLUDE_DIR})
