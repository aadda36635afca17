# FORESHARD_HAS_CUDA_TOOLKIT: whether the recorder of GPUs and the null device of rehearsals are built;
# FORESHARD_HAS_CUDA: whether the CUDA device is. nvcc is looked for on PATH and in /usr/local/cuda; the
# toolkit needs no GPU and no driver.
if(NOT FORESHARD_CUDA OR FORESHARD_SANITIZER OR FORESHARD_FUZZ)
  return()
endif()
find_package(CUDAToolkit 13.0 QUIET)
if(NOT CUDAToolkit_FOUND)
  return()
endif()
set(FORESHARD_HAS_CUDA_TOOLKIT ON)
if(NOT FORESHARD_CUDA_DEVICE OR NOT CUDAToolkit_NVCC_EXECUTABLE)
  return()
endif()
set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
if(CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
set(CMAKE_CUDA_ARCHITECTURES ${FORESHARD_CUDA_ARCHITECTURES})
enable_language(CUDA)
# CMake 3.25 does not know what CUDA 13 understands.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(FORESHARD_HAS_CUDA ON)
