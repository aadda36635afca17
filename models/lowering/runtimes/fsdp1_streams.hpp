// The streams of PyTorch's FSDP1 (_init_streams), besides the compute stream.
#pragma once

#include <span>

#include "models/program/streams.hpp"

namespace foreshard::lowering {

// Rows of the tables below.
namespace fsdp1_stream {
constexpr Stream unshard{1}, pre_unshard{2}, post_backward{3};
constexpr Stream all_reduce{4};  // of hybrid strategies
}  // namespace fsdp1_stream

std::span<const StreamInfo> fsdp1_streams();
// Gathers and reduce-scatters go before all-reduces where the limiter is on.
std::span<const StreamInfo> fsdp1_hybrid_streams(bool limits_all_gathers);

}  // namespace foreshard::lowering
