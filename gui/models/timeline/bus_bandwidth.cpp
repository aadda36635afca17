#include "gui/models/timeline/bus_bandwidth.hpp"

#include "models/program/bus_bandwidth.hpp"
#include "models/program/operators.hpp"
#include "simulator/costs/key_facts.hpp"
#include "traces/metadata.hpp"
#include "traces/recorded_machine.hpp"

namespace foreshard::gui {

std::optional<double> bus_bytes(const traces::Trace& trace, const traces::Event& event) {
  CostKey key;
  if (!parse_cost_key(trace.strings[event.cost_key], key) || !is_collective(key.op)) {
    return std::nullopt;
  }
  const auto ranks = static_cast<double>(key.dims[1]);
  if (ranks < 2) return std::nullopt;
  return sent_share(key.op, ranks) * simulator::payload_bytes(key);
}

std::optional<double> peak_bus_bandwidth(const traces::Trace& trace, int rank) {
  const auto machine = traces::recorded_machine(trace, rank);
  const std::int64_t ranks = traces::integer(trace.metadata, "ranks", 1);
  if (!machine || ranks > machine->gpus_per_node) return std::nullopt;
  const double link = machine->link_bandwidth;
  return link > 0 ? link : machine->host_bandwidth;
}

}  // namespace foreshard::gui
