// A program that uses CUDA: two streams, and on each so many kernels, copies and fills as its first
// argument says. The second says how it ends: "return" (the default), "exit7", "abort" or "kill";
// with "memory" it takes memory of the device by itself and from a pool before it returns; with
// "again" it replaces itself by a program that does the same once more. Each round is an NVTX range,
// and asks whether an event has come.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

namespace {

void take_memory() {
  void *alone = nullptr, *pooled = nullptr;
  cudaMemPool_t pool = nullptr;
  cudaMalloc(&alone, 3000);
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMallocAsync(&pooled, 1000, nullptr);
  cudaFreeAsync(pooled, nullptr);
  cudaMemPoolTrimTo(pool, 0);
  cudaFree(alone);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 0;
  const std::string end = count > 2 ? arguments[2] : "return";
  std::vector<char> from(4096), to(4096);
  cudaStream_t streams[2] = {};
  cudaEvent_t event = nullptr;
  nvtxMarkA("before CUDA");
  if (rounds > 0) {
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    for (cudaStream_t& stream : streams) cudaStreamCreateWithPriority(&stream, 0, 0);
  }
  for (int round = 0; round < rounds; ++round) {
    nvtxRangePushA("round");
    for (const cudaStream_t stream : streams) {
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(2);
      config.blockDim = dim3(64);
      config.stream = stream;
      cudaLaunchKernelExC(&config, nullptr, nullptr);
      cudaMemcpyAsync(to.data(), from.data(), 1024, cudaMemcpyDefault, stream);
      cudaMemsetAsync(to.data(), 0, 512, stream);
      cudaStreamSynchronize(stream);
    }
    cudaEventQuery(event);
    nvtxRangePop();
  }
  if (end == "exit7") std::exit(7);
  if (end == "memory") take_memory();
  if (end == "abort" || end == "kill" || end == "again") {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));  // a flush is due within 200
  }
  if (end == "abort") std::abort();
  if (end == "kill") ::kill(::getpid(), SIGKILL);
  if (end == "again") ::execl(arguments[0], arguments[0], arguments[1], nullptr);
  if (rounds == 0) return 0;
  for (const cudaStream_t stream : streams) cudaStreamDestroy(stream);
  return 0;
}
