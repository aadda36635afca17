#include "executor/cuda/kernels/check.hpp"

#include "executor/device/launch_check.hpp"

namespace foreshard::executor::cuda {
namespace {

// Of which the documentation of cudaError_t says that all further work of the process returns the same, for
// what a kernel does.
bool is_of_a_kernel(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return true;
    default: return false;
  }
}

}  // namespace

void throw_refusal(cudaError_t error, const char* call) {
  std::string text = std::string(call) + ": " + cudaGetErrorString(error) + " (" +
                     std::to_string(static_cast<int>(error)) + ")";
  if (is_of_a_kernel(error) && !checks_launches()) {
    text += "; set FORESHARD_CUDA_CHECK=1 to have the instruction named";
  }
  throw std::runtime_error(text);
}

}  // namespace foreshard::executor::cuda
