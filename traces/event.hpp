// The records of a trace: what happened on a lane, and what the allocator did. Text is an index into
// the trace's strings.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/program/cost_source.hpp"

namespace foreshard::traces {

using StringId = std::int32_t;
constexpr std::int32_t kNone = -1;

// What an event is; the categories of Holistic Trace Analysis plus those of a host.
enum class EventKind : std::uint8_t {
  range,          // a named range: an annotation, a step of the profiler
  host,           // host work: issuing an instruction, an operator of the framework
  host_wait,      // the host blocked
  compute,        // device: a kernel
  communication,  // device: a collective
  memory,         // device: a copy or a fill
  wait,           // device: a stream waits for an event
  host_compute,   // the host's own arithmetic, such as an offloaded optimizer
  runtime,        // a call of the device's runtime or driver
  stack,          // a function of the program itself, such as one of Python's
  kCount
};
std::string_view name(EventKind kind);

// Whether the device does something, rather than waits: what busy and idle time are made of.
constexpr bool is_device_work(EventKind kind) {
  return kind == EventKind::compute || kind == EventKind::communication ||
         kind == EventKind::memory;
}

struct Event {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t cpu_ns = -1;  // processor time of the executing thread(s), -1 where unknown
  std::int32_t lane = 0;
  std::int32_t step = 0;
  EventKind kind = EventKind::host;
  CostSource cost_source = CostSource::none;  // of a prediction: where its time comes from
  std::int16_t micro_step = 0;
  StringId name = 0;  // operator, range or kernel
  StringId phase = 0;
  StringId unit = 0;
  StringId stable_key = 0;
  StringId cost_key = 0;             // text of a models CostKey, 0 when there is none
  std::int32_t instruction = kNone;  // comparable only between traces of equal program hash
  float cost_error = 0;              // relative standard deviation of that cost; 0: none is known
  std::int64_t bytes = 0;
  // Joins what was launched with the call that launched it, within a rank; 0: nothing to join. Our
  // own recordings join by step and instruction.
  std::int64_t correlation = 0;
  StringId group = 0;         // of a collective: its process group, "NAME [0, 1]" (collectives.hpp)
  std::int64_t sequence = 0;  // and its number there, from 1 on; 0: not recorded
  bool operator==(const Event&) const = default;
};

enum class MemoryAction : std::uint8_t {
  alloc,
  free_requested,  // the block no longer counts as allocated
  free_completed,  // nor as active: every stream that used it has passed
  segment_alloc,   // reserved from the device
  segment_free,
  out_of_memory,  // `bytes` could not be had
  outside_alloc,  // taken from the device by others than the allocator
  outside_free,
  kCount
};
std::string_view name(MemoryAction action);

constexpr bool is_outside(MemoryAction action) {
  return action == MemoryAction::outside_alloc || action == MemoryAction::outside_free;
}

struct MemoryEvent {
  std::int64_t time_ns = 0;
  std::int32_t rank = 0;
  MemoryAction action = MemoryAction::alloc;
  bool on_host = false;
  std::int32_t step = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;      // of the block or segment, as the allocator's statistics count it
  std::int64_t requested = 0;  // bytes requested
  std::int32_t lane = kNone;   // stream whose pool it is
  StringId category = 0;
  StringId owner = 0;  // "module path: role"
  StringId phase = 0;
  std::int32_t instruction = kNone;
  StringId stack = 0;  // the code that allocated, one frame a line, innermost first
  bool operator==(const MemoryEvent&) const = default;
};

}  // namespace foreshard::traces
