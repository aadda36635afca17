// Bandwidth of collectives as nccl-tests counts it. Algorithm bandwidth is the whole buffer over the time, bus
// bandwidth what each rank must send at least over the time: that one compares with the speed of the links, whatever
// the collective and the number of ranks.
#pragma once

#include <cstdint>

#include "models/program/operators.hpp"

namespace foreshard {

// How often the buffer goes around: a sum for all ranks is formed, then handed out.
constexpr double passes(Operator op) {
  return op == Operator::all_reduce ? 2 : 1;
}

// Of the bytes that a collective's cost key counts, what each rank sends at least.
constexpr double sent_share(Operator op, double ranks) {
  const bool sends_all = op == Operator::broadcast || op == Operator::transfer;
  return sends_all ? 1 : passes(op) * (ranks - 1) / ranks;
}

constexpr double bus_gb_s(Operator op, double bytes, std::int64_t ranks, double ns) {
  return ns > 0 ? sent_share(op, static_cast<double>(ranks)) * bytes / ns : 0;
}

}  // namespace foreshard
