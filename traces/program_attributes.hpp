// Attributes of an instruction that do not depend on when and on which device it runs: its name,
// phase, unit, keys and bytes. Recorder and simulator share them, so measured and predicted events of
// one instruction have equal attributes.
//
// An instruction may show twice: on the host thread, which issues it, and on a stream, which does it.
// A range shows once, with its end's instruction and from the start of its beginning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/program/step_program.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// The part of an Event that does not depend on when it happened.
struct EventAttributes {
  EventKind kind = EventKind::host;
  std::int16_t micro_step = 0;
  StringId name = 0;
  StringId phase = 0;
  StringId unit = 0;
  StringId stable_key = 0;
  StringId cost_key = 0;
  std::int32_t instruction = kNone;
  std::int64_t bytes = 0;
  CostSource cost_source = CostSource::none;
  float cost_error = 0;
  StringId group = 0;
  std::int64_t sequence = 0;
  bool operator==(const EventAttributes&) const = default;
};

// The same of a MemoryEvent.
struct MemoryAttributes {
  bool on_host = false;
  std::int64_t requested = 0;
  std::int32_t lane = kNone;  // stream whose pool it is
  StringId category = 0;
  StringId owner = 0;
  StringId phase = 0;
  std::int32_t instruction = kNone;
  StringId stack = 0;
  bool operator==(const MemoryAttributes&) const = default;
};

// What the stream that executes an instruction is seen to do; nothing where no stream is involved.
std::optional<EventKind> device_kind(const RankProgram& rank, const Instruction& instruction);

// What the host thread is seen to do.
EventKind host_kind(const Instruction& instruction);

struct ProgramAttributes {
  std::vector<EventAttributes> host;  // one per instruction
  std::vector<EventAttributes>
      device;  // one per instruction; meaningless where device_kind is nothing
  std::vector<MemoryAttributes> memory;  // one per instruction; its buffer where it has one
};

// Of the rank's program of that number. `lanes[stream]` is the trace's lane of that stream.
ProgramAttributes program_attributes(const RankProgram& rank, std::size_t number,
                                     const ModuleTree& tree, const std::vector<std::int32_t>& lanes,
                                     Strings& strings);

// "owner: role" of a buffer, as memory reports name it.
std::string owner_text(const RankProgram& rank, const Buffer& buffer);

}  // namespace foreshard::traces
