# The sources of libforeshard_cuda.so, which tests compile for the host too.
set(FORESHARD_CUDA_SOURCES
  collective_log.cpp
  cuda_device.cpp
  cuda_graph.cpp
  cuda_library.cpp
  cuda_memory.cpp
  cuda_memory_meter.cpp
  graph_marks.cpp
  local_communicator.cpp
  cudnn/load_fused_attention.cpp
  nvml.cpp
  stream_marks.cpp
  kernels/kernels.cpp
  kernels/matmul.cpp
)
set(FORESHARD_CUDA_KERNELS
  kernels/attention.cu
  kernels/bias.cu
  kernels/elementwise.cu
  kernels/embedding.cu
  kernels/loss.cu
  kernels/norm.cu
  kernels/optimizer.cu
  kernels/reduction.cu
  kernels/rope.cu
  kernels/sharding.cu
  kernels/word.cu
)
if(NCCL_INCLUDE_DIR)
  list(APPEND FORESHARD_CUDA_SOURCES nccl_calls.cpp nccl_communicator.cpp nccl_group.cpp)
else()
  list(APPEND FORESHARD_CUDA_SOURCES no_nccl.cpp)
endif()
list(TRANSFORM FORESHARD_CUDA_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/executor/cuda/)
list(TRANSFORM FORESHARD_CUDA_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/executor/cuda/)
