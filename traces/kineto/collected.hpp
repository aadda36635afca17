// One recording's contents, before it is known which of its events belong together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/program/operators.hpp"
#include "traces/kineto/flow_links.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

// What is needed of an event to attribute it, beside the event.
struct EventLinks {
  std::int64_t external_id = 0;  // the operator's number, or that of the operator it belongs to
  Operator in_backward = Operator::kCount;  // see OperatorKey
  std::uint32_t collective_size = 0;        // see background_collectives.hpp
  bool communicates = false;  // of calls and operators: the kernels that they launch do
};

// An instant of the allocator. Absent values are kUnknown.
struct AllocatorInstant {
  static constexpr std::int64_t kUnknown = INT64_MIN;
  std::int64_t time_ns = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;                                  // negative: freed
  std::int64_t allocated = kUnknown, reserved = kUnknown;  // after it
  std::int32_t lane = 0;
  std::int16_t device = -1;
  bool on_host = false;
  bool is_out_of_memory = false;
};

struct Collected {
  Strings strings;
  std::vector<Lane> lanes;
  std::vector<Event> events;            // in the order of the lanes, sorted by time within
  std::vector<EventLinks> links;        // of each event
  std::vector<std::size_t> lane_begin;  // first event of each lane, and one more
  std::vector<AllocatorInstant> memory;
  std::vector<FlowEnd> flows;  // those that correlations do not make superfluous
  std::map<std::string, std::int64_t> dropped;
  std::vector<Loss> losses;
};

}  // namespace foreshard::traces::kineto
