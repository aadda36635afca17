#include "gui/models/timeline/bus_bandwidth.hpp"

#include "models/program/operators.hpp"
#include "simulator/costs/key_facts.hpp"

namespace foreshard::gui {

std::optional<double> bus_bytes(const traces::Trace& trace, const traces::Event& event) {
  CostKey key;
  if (!parse_cost_key(trace.strings[event.cost_key], key) || !is_collective(key.op)) {
    return std::nullopt;
  }
  const auto ranks = static_cast<double>(key.dims[1]);
  if (ranks < 2) return std::nullopt;
  // A reduction to all is one to shards and their gathering.
  const double passes = key.op == Operator::all_reduce ? 2 : 1;
  return passes * (ranks - 1) / ranks * simulator::payload_bytes(key);
}

}  // namespace foreshard::gui
