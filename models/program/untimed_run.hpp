// A run without times: whether programs that issue different collectives ever end.
#pragma once

#include <cstddef>
#include <optional>

#include "models/program/program_json.hpp"

namespace foreshard {

// A collective at which its rank would wait forever.
struct EndlessWait {
  std::size_t program = 0, step = 0, instruction = 0;
};

// Runs each program once through, as its class's lowest rank. A communicator's collectives run in the order in
// which their ranks issue them, each as soon as all of those ranks stand at it.
std::optional<EndlessWait> endless_wait(const RankPrograms& set);

}  // namespace foreshard
