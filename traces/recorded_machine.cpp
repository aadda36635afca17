#include "traces/recorded_machine.hpp"

#include <algorithm>
#include <string>

#include "models/hardware/device_names.hpp"

namespace foreshard::traces {

std::optional<Machine> recorded_machine(const Trace& trace, std::int32_t rank) {
  const auto reported = trace.metadata.find("device." + std::to_string(rank));
  if (reported != trace.metadata.end()) return machine_reported_as(reported->second);
  const auto sheet = trace.metadata.find("data_sheet");
  if (sheet == trace.metadata.end()) return std::nullopt;
  const auto& all = bundled_machines();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Machine& one) { return one.name == sheet->second; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace foreshard::traces
