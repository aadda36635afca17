#include "tests/cuda/runtime/faults.hpp"

#include <atomic>
#include <cstdlib>
#include <utility>

namespace foreshard::host_cuda {
namespace {

std::atomic<cudaError_t> lasting{cudaSuccess};

bool is_the_one(const std::string& name) {
  static const char* const fault = std::getenv("FORESHARD_HOST_CUDA_FAULT");
  static std::atomic<int> seen{0};
  if (fault == nullptr) return false;
  const std::string text = fault;
  const auto colon = text.find(':');
  return name.find(text.substr(colon + 1)) != std::string::npos &&
         seen.fetch_add(1) + 1 == std::atoi(text.c_str());
}

}  // namespace

std::function<void()> that_may_fail(const std::string& name, std::function<void()> kernel) {
  return [fails = is_the_one(name), kernel = std::move(kernel)] {
    if (fails) lasting = cudaErrorIllegalAddress;
    if (lasting == cudaSuccess) kernel();
  };
}

cudaError_t lasting_error() {
  return lasting;
}

}  // namespace foreshard::host_cuda
