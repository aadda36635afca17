// What a rank's device does, found by the program's place: the first work of an instruction or of
// those after it, within its step.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::gui {

class DeviceWork {
 public:
  enum class Of : std::uint8_t { compute_stream, every_stream };

  DeviceWork(const traces::Trace& trace, int rank, Of streams);

  bool is_empty() const { return work_.empty(); }
  // Null where the step has none.
  const traces::Event* from(std::int32_t step, std::int32_t instruction) const;
  const traces::Event* last_before(std::int32_t step, std::int32_t instruction) const;

 private:
  std::vector<const traces::Event*> work_;  // in the order of the program
};

}  // namespace foreshard::gui
