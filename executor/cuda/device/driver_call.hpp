// Functions of the driver, looked up through the runtime: nothing links to the driver.
#pragma once

#include <stdexcept>
#include <string>

#include "executor/cuda/kernels/check.hpp"

namespace foreshard::executor::cuda {

// `needs`: who needs it, for the message of the std::runtime_error where this driver has none.
template <class Function>
void look_up(const char* name, const char* needs, Function*& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status),
        "cudaGetDriverEntryPointByVersion");
  if (found == nullptr) {
    throw std::runtime_error(std::string("this driver has no ") + name + ", which " + needs +
                             " need");
  }
  function = reinterpret_cast<Function*>(found);
}

}  // namespace foreshard::executor::cuda
