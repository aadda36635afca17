// Takes a recording's events one by one and keeps what a trace can hold: events with their lane, kind
// and size, the allocator's instants and counters. What is left out is counted by reason.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/import.hpp"
#include "traces/kineto/collected.hpp"
#include "traces/kineto/costs/key_memo.hpp"
#include "traces/kineto/counter_table.hpp"
#include "traces/kineto/json/raw_event.hpp"
#include "traces/kineto/lane_table.hpp"

namespace foreshard::traces::kineto {

class Collector {
 public:
  explicit Collector(const ImportOptions& options) : keeps_stacks_(options.keeps_stacks) {}

  void use(const RawEvent& raw);

  bool has_lanes() const { return lanes_.size() > 0; }

  // That the streams seen so far are of, -1 without any.
  std::int64_t device() const { return device_; }

  // All events in order; times of the file plus `base_ns`. The collector is empty afterwards.
  Collected finish(std::int64_t base_ns);

 private:
  struct Entry {
    Event event;
    EventLinks links;
  };

  // Blocks rather than one array: nothing moves as it grows, and each goes once it is passed on.
  using Blocks = std::vector<std::vector<Entry>>;

  void drop(std::string_view reason, std::string_view detail = {});
  void use_slice(const RawEvent& raw);
  void use_end(const RawEvent& raw);
  void use_instant(const RawEvent& raw);
  void use_metadata(const RawEvent& raw);
  void use_flow(const RawEvent& raw);
  void use_counter(const RawEvent& raw);
  bool is_communication(StringId name, std::string_view text);
  static std::int64_t device_of(const RawEvent& raw);
  LaneTable::Location stream_of(const RawEvent& raw);
  void describe_collective(const RawEvent& raw, Event& event);
  void describe_host(const RawEvent& raw, Event& event, EventLinks& links);
  void describe_device(const RawEvent& raw, Event& event);
  StringId intern(const CostKey& key);
  Entry& add(std::int32_t lane);
  void forget_shared_launches();

  bool keeps_stacks_;
  std::int64_t device_ = -1;
  std::unordered_map<StringId, bool> communication_;  // of names of kernels
  LaneTable lanes_;
  CounterTable counters_;
  std::vector<Blocks> blocks_;                              // by lane
  std::map<LaneTable::Location, std::vector<Entry>> open_;  // of each thread, the innermost last
  Collected out_;
  KeyMemo keys_{out_.strings};
};

}  // namespace foreshard::traces::kineto
