#include "models/lowering/runtimes/fsdp1_streams.hpp"

namespace foreshard::lowering {

std::span<const StreamInfo> fsdp1_hybrid_streams(bool limits_all_gathers) {
  using enum StreamRole;
  static const StreamInfo kEqual[] = {{"compute", compute, 0},
                                      {"unshard", communication, 0},
                                      {"pre_unshard", communication, 0},
                                      {"post_backward", communication, 0},
                                      {"all_reduce", communication, 0}};
  static const StreamInfo kLimited[] = {{"compute", compute, 0},
                                        {"unshard", communication, -1},
                                        {"pre_unshard", communication, -1},
                                        {"post_backward", communication, -1},
                                        {"all_reduce", communication, 0}};
  return limits_all_gathers ? kLimited : kEqual;
}

std::span<const StreamInfo> fsdp1_streams() {
  return fsdp1_hybrid_streams(false).first(4);
}

}  // namespace foreshard::lowering
