# The sources of libforeshard_cuda.so, which tests compile for the host too.
set(FORESHARD_CUDA_SOURCES
  device/cuda_device.cpp
  device/cuda_graph.cpp
  cuda_library.cpp
  device/cuda_memory.cpp
  device/cuda_memory_meter.cpp
  communication/local_communicator.cpp
  kernels/cudnn/load_fused_attention.cpp
  libraries/nvml.cpp
  device/stream_log.cpp
  kernels/attention_backend.cpp
  kernels/check.cpp
  kernels/kernels.cpp
  kernels/matmul.cpp
  kernels/quickest.cpp
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
)
if(NCCL_INCLUDE_DIR)
  list(APPEND FORESHARD_CUDA_SOURCES communication/nccl_communicator.cpp
    communication/nccl_group.cpp libraries/nccl_calls.cpp)
else()
  list(APPEND FORESHARD_CUDA_SOURCES communication/no_nccl.cpp)
endif()
list(TRANSFORM FORESHARD_CUDA_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/executor/cuda/)
list(TRANSFORM FORESHARD_CUDA_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/executor/cuda/)
