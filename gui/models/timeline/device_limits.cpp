#include "gui/models/timeline/device_limits.hpp"

#include <algorithm>
#include <string>

#include "models/hardware/device_names.hpp"

namespace foreshard::gui {

std::optional<Machine> machine_of(const traces::Trace& trace, int rank) {
  const auto reported = trace.metadata.find("device." + std::to_string(rank));
  if (reported != trace.metadata.end()) return machine_reported_as(reported->second);
  const auto sheet = trace.metadata.find("data_sheet");
  if (sheet == trace.metadata.end()) return std::nullopt;
  const auto& all = bundled_machines();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Machine& one) { return one.name == sheet->second; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace foreshard::gui
