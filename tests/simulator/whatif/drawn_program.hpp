// Random programs of a host and a device with streams, run by rules of which a recording shows only the
// result. The same program can be run with other times: what a what-if should have answered.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::simulator {

struct DrawnProgram {
  enum class Kind : std::uint8_t { launch, copy, stream_waits, synchronize, synchronize_all };
  struct Call {
    Kind kind = Kind::launch;
    int stream = 0, other = 0;  // `other`: whose work so far the stream waits for
    int name = 0;               // of the work
    double host_us = 0;         // before the call
    double work_us = 0;
  };
  int streams = 1;
  std::vector<Call> calls;
};

constexpr int kDrawnNames = 4;  // of work: "work 0" to "work 3"

// The same for the same seed; every call about as often bound by the host as by the device.
DrawnProgram draw_program(std::uint32_t seed, int calls);

// As it would be recorded, with one step around all; work of a name takes its factor times as long.
traces::Trace run_program(const DrawnProgram& program, const std::vector<double>& factors);

}  // namespace foreshard::simulator
