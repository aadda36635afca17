# NCCL_INCLUDE_DIR: where nccl.h is, if collectives by NCCL are built. The library itself is loaded by runs
# that ask for it (executor/cuda/libraries/nccl_calls.hpp).
if(NOT FORESHARD_HAS_CUDA)
  return()
endif()
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NOT NCCL_INCLUDE_DIR)
  message(STATUS "collectives by NCCL are left out: no NCCL")
endif()
