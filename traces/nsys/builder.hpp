// Collects the events of an export and then assigns lanes: ranks are only known after all device
// events have been read. Only for the sources of this folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces::nsys {

constexpr std::int64_t kNoProcess = -1;  // not in the table

// The tool packs hardware, machine, process and thread into one number.
constexpr std::int64_t process_of(std::int64_t global) {
  return (global >> 24) & 0xFFFFFF;
}
constexpr std::int64_t thread_of(std::int64_t global) {
  return global & 0xFFFFFF;
}

// Where an event happened, before ranks are known.
struct Location {
  bool device = false;
  std::int64_t process = kNoProcess;
  std::int64_t unit = 0;  // the thread (kNone: unknown), or the device
  std::int64_t context = 0;
  std::int64_t stream = kNone;  // kNone: the whole device
  bool operator<(const Location& other) const {
    return std::tie(device, process, unit, context, stream) <
           std::tie(other.device, other.process, other.unit, other.context, other.stream);
  }
};

struct RankDescription {
  std::int64_t process = kNoProcess;
  std::int64_t device = kNone;  // kNone: a process without one
};

class Builder {
 public:
  explicit Builder(Trace& trace) : trace_(trace) {}

  Strings& strings() { return trace_.strings; }
  void drop(const std::string& reason, std::int64_t records = 1) {
    if (records > 0) trace_.dropped[reason] += records;
  }

  // Nsight Systems reported dropped records at that time of the trace.
  void note_dropped(std::int64_t at_ns) {
    trace_.dropped_ranges.push_back({kNone, false, at_ns, at_ns, 1});
  }

  // `event.lane` is filled in. False where the event was impossible and is left out.
  bool add(const Location& location, Event event);
  // A range without an end lasts until the recording ends.
  void add_open(const Location& location, Event event);
  void add(std::int64_t process, std::int64_t device, MemoryEvent event);
  // The device of a process's context, as far as work on it was added; else `fallback`.
  std::int64_t device_of(std::int64_t process, std::int64_t context, std::int64_t fallback) const;
  void name_thread(std::int64_t process, std::int64_t thread, StringId name);

  // Counts times from the first event, makes lanes and sorts. Returns the first event's time.
  std::int64_t finish();
  const std::vector<RankDescription>& ranks() const { return ranks_; }
  // "processes", "devices of processes": what a rank is in this recording.
  std::string what_ranks_are() const;

 private:
  // A process and its device, thread, context or correlation.
  using Key = std::pair<std::int64_t, std::int64_t>;

  std::int32_t number(const Location& location);
  void close_open();
  std::int64_t count_from_first();
  void find_ranks();
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> count_launches() const;
  std::vector<std::int32_t> ranks_of_locations() const;
  void make_lanes();

  Trace& trace_;
  std::map<Location, std::int32_t> numbers_;
  std::map<Key, std::int64_t> device_of_context_;  // process and context
  std::vector<Location> locations_;
  std::vector<std::int64_t> memory_process_;
  std::map<Key, StringId> thread_names_;
  std::vector<RankDescription> ranks_;
  std::map<Key, std::int32_t> rank_of_device_;
};

}  // namespace foreshard::traces::nsys
