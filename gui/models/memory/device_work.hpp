// What a rank's device does, found by the program's place: the first work of an instruction or of
// those after it, within its step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::gui {

class DeviceWork {
 public:
  enum class Of : std::uint8_t { compute_stream, every_stream };

  DeviceWork(const traces::Trace& trace, int rank, Of streams);

  bool is_empty() const { return work_.empty(); }
  // Null where the step has none.
  traces::EventPointer from(std::int32_t step, std::int32_t instruction) const;
  traces::EventPointer last_before(std::int32_t step, std::int32_t instruction) const;

 private:
  using Place = std::pair<std::int32_t, std::int32_t>;  // step and instruction

  Place place_of(std::uint32_t event) const;
  std::size_t first_from(Place place) const;
  // Null where that work, if there is any, is not of the step.
  traces::EventPointer within(std::int32_t step, std::size_t n) const;

  const traces::EventList* events_;
  std::vector<std::uint32_t> work_;  // of these, in the order of the program
};

}  // namespace foreshard::gui
