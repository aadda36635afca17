#include "models/lowering/runtimes/fsdp1_streams.hpp"

namespace foreshard::lowering {
namespace {

using enum StreamRole;

const StreamInfo kEqual[] = {{"compute", compute, 0},
                             {"unshard", communication, 0},
                             {"pre_unshard", communication, 0},
                             {"post_backward", communication, 0},
                             {"all_reduce", communication, 0}};
const StreamInfo kLimited[] = {{"compute", compute, 0},
                               {"unshard", communication, -1},
                               {"pre_unshard", communication, -1},
                               {"post_backward", communication, -1},
                               {"all_reduce", communication, 0}};

}  // namespace

std::span<const StreamInfo> fsdp1_streams() {
  return std::span(kEqual).first(4);
}

std::span<const StreamInfo> fsdp1_hybrid_streams(bool limits_all_gathers) {
  return limits_all_gathers ? kLimited : kEqual;
}

}  // namespace foreshard::lowering
