// The answer of `foreshard replay` as JSON and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/replay/what_if.hpp"

namespace foreshard::profiler {

struct ReplayAnswer {
  std::string history;
  std::optional<int> device;  // of a snapshot
  std::vector<int> devices;   // all that it recorded
  std::size_t events = 0;
  std::string incomplete_reason;   // why the file is not whole, or empty
  std::string settings;            // other than the recorded ones, as asked for
  bool has_other_device = false;   // another capacity than the recorded one
  bool ends_with_failure = false;  // no request was recorded after memory ran out
  std::int64_t inconsistent_events = 0, skipped_events = 0;
  std::optional<std::int64_t> capacity;
  traces::RecordedFigures recorded;
  traces::ReplayResult result;
  Outcome outcome;                              // of that result
  traces::ReplayResult recorded_replay;         // of the recorded settings and device
  std::optional<std::size_t> recorded_failure;  // the first one's event
  Fragmentation at_peak;
  std::optional<Fragmentation> at_failure;  // the first one
  std::vector<WhatIf> what_ifs;
  std::optional<MemoryHolders> contents;  // of a snapshot

  bool is_as_recorded() const { return settings.empty() && !has_other_device; }
  bool reproduces_recording() const {
    return recorded_replay.addresses_total > 0 &&
           recorded_replay.addresses_equal == recorded_replay.addresses_total &&
           static_cast<std::int64_t>(recorded_replay.failures.size()) == recorded.out_of_memory;
  }
};

// The answer in a few sentences: whether memory ran out or would have, by how much, why, and what
// to do about it.
std::vector<std::string> replay_sentences(const ReplayAnswer& answer);

std::string to_json(const ReplayAnswer& answer);
std::string replay_text(const ReplayAnswer& answer);
// JSON lines: what the allocator decided for each request.
std::string decisions_text(const traces::ReplayResult& result);

// Amounts of memory in one unit, GiB where the largest has one and MiB otherwise.
class Amounts {
 public:
  explicit Amounts(std::int64_t largest);
  std::string operator()(std::int64_t bytes) const;
  std::string number(std::int64_t bytes) const;  // without the unit

 private:
  double unit_;
  const char* unit_name_;
};
Amounts amounts_of(const ReplayAnswer& answer);

}  // namespace foreshard::profiler
