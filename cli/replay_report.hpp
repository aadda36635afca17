// What `foreshard replay` answers: the JSON of the contract, and text for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/allocator_replay.hpp"
#include "traces/snapshot/contents.hpp"

namespace foreshard::cli {

// Where reserved memory was not allocated, at one moment of a replay.
struct Fragmentation {
  std::int64_t reserved = 0, allocated = 0, largest_free = 0;
};

// The same requests under other settings.
struct WhatIf {
  std::string change;
  std::int64_t failures = 0;
  std::int64_t peak_reserved = 0, peak_allocated = 0;
};

struct ReplayAnswer {
  std::string history;
  std::optional<int> device;  // of a snapshot
  std::vector<int> devices;   // all that it recorded
  std::size_t events = 0;
  bool complete = true;
  bool as_recorded = true;  // the recorded settings and device
  std::int64_t misfits = 0, left_out = 0;
  std::optional<std::int64_t> capacity;
  traces::RecordedFigures recorded;
  traces::ReplayResult result;
  Fragmentation at_peak;
  std::optional<Fragmentation> at_failure;  // the first one
  std::vector<WhatIf> what_ifs;
  std::optional<traces::Contents> contents;  // of a snapshot
};

std::string replay_json(const ReplayAnswer& answer);
std::string replay_text(const ReplayAnswer& answer);
// JSON lines: what the allocator decided for each request.
std::string decisions_text(const traces::ReplayResult& result);

}  // namespace foreshard::cli
