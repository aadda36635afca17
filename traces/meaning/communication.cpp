#include "traces/meaning/communication.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace foreshard::traces {
namespace {

// In lower case.
constexpr std::array<std::string_view, 20> kInKernels{"nccl",
                                                      "rccl",
                                                      "mscclkernel",
                                                      "mscclpp",
                                                      "oneccl",
                                                      "hccl",
                                                      "ep::internode::",
                                                      "ep::intranode::",
                                                      "internode_ll::",
                                                      "nvshmem",
                                                      "rocshmem",
                                                      "multimem_",
                                                      "one_shot_all",
                                                      "two_shot_all",
                                                      "oneshotallreduce",
                                                      "twoshotallreduce",
                                                      "cross_device_reduce",
                                                      "allreduce_fusion",
                                                      "quickreduce",
                                                      "low_contention"};

constexpr std::array<std::string_view, 4> kOperators{
    "c10d::", "_c10d_functional::", "symm_mem::", "record_param_comms"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool is_communication_kernel(std::string_view kernel) {
  std::string text(kernel);
  std::ranges::transform(text, text.begin(), lower);
  return std::ranges::any_of(
      kInKernels, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

bool is_communication_operator(std::string_view op) {
  return std::ranges::any_of(kOperators,
                             [&](std::string_view word) { return op.starts_with(word); });
}

bool is_copy_between_devices(std::string_view copy) {
  return copy.starts_with("Memcpy PtoP");
}

}  // namespace foreshard::traces
