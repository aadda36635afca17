// Where there are no headers of NCCL.
#include <stdexcept>

#include "executor/cuda/communication/nccl_communicator.hpp"

namespace foreshard::executor::cuda {

Result<std::string> nccl_version() {
  return fail("--comm", "nccl", "this program was built without NCCL; expected auto or local");
}

std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(
    RunControl& /*run*/, std::span<Device* const> /*devices*/, std::span<const int> /*ranks*/,
    Transport* /*transport*/) {
  throw std::runtime_error(nccl_version().error().text());
}

}  // namespace foreshard::executor::cuda
