#include "traces/nsys/builder.hpp"

#include <algorithm>
#include <set>

#include "traces/meaning/launches.hpp"

namespace foreshard::traces::nsys {
namespace {

constexpr std::size_t kMaxPlaces = 100'000;
constexpr std::int64_t kLongest = std::int64_t{1} << 53;  // ns: a hundred days
constexpr std::int64_t kOpen = -2;  // as an event's processor time: its end is not known yet
constexpr const char* kImpossible = "records with impossible times";

bool is_possible(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns <= end_ns && start_ns >= -kLongest * 256 && end_ns <= kLongest * 256;
}

}  // namespace

std::int32_t Builder::number(const Location& location) {
  const auto found = numbers_.find(location);
  if (found != numbers_.end()) return found->second;
  if (locations_.size() >= kMaxPlaces) return kNone;
  locations_.push_back(location);
  if (location.device)
    device_of_context_.try_emplace({location.process, location.context}, location.unit);
  return numbers_[location] = static_cast<std::int32_t>(locations_.size()) - 1;
}

bool Builder::add(const Location& location, Event event) {
  if (!is_possible(event.start_ns, event.end_ns)) {
    drop(kImpossible);
    return false;
  }
  event.lane = number(location);
  if (event.lane == kNone) {
    drop("events beyond the maximum number of threads and streams, " + std::to_string(kMaxPlaces));
    return false;
  }
  trace_.events.push_back(event);
  return true;
}

void Builder::add_open(const Location& location, Event event) {
  event.end_ns = event.start_ns;
  event.cpu_ns = kOpen;
  add(location, event);
}

void Builder::add(std::int64_t process, std::int64_t device, MemoryEvent event) {
  if (!is_possible(event.time_ns, event.time_ns)) return drop(kImpossible);
  event.rank = static_cast<std::int32_t>(std::clamp<std::int64_t>(device, 0, 1'000'000));
  trace_.memory.push_back(event);
  memory_process_.push_back(process);
}

std::int64_t Builder::device_of(std::int64_t process, std::int64_t context,
                                std::int64_t fallback) const {
  const auto found = device_of_context_.find({process, context});
  return found == device_of_context_.end() ? fallback : found->second;
}

void Builder::name_thread(std::int64_t process, std::int64_t thread, StringId name) {
  if (thread_names_.size() < kMaxPlaces) thread_names_[{process, thread}] = name;
}

void Builder::close_open() {
  std::int64_t last = 0, open = 0;
  for (const Event& e : trace_.events) last = std::max(last, e.end_ns);
  for (std::size_t n = 0; n < trace_.events.size(); ++n) {
    if (trace_.events[n].cpu_ns != kOpen) continue;
    trace_.events.update(n, [&](Event& e) {
      e.end_ns = last;
      e.cpu_ns = -1;
    });
    ++open;
  }
  drop("unclosed ranges, ended with the recording", open);
}

// One damaged time must not move all others: what is far from most of them is damage.
std::int64_t Builder::count_from_first() {
  std::vector<std::int64_t> starts;
  for (const Event& e : trace_.events) starts.push_back(e.start_ns);
  for (const MemoryEvent& m : trace_.memory) starts.push_back(m.time_ns);
  if (starts.empty()) return 0;
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  const std::int64_t earliest = *middle - kLongest / 2, latest = *middle + kLongest / 2;
  const auto is_far = [&](std::int64_t start, std::int64_t end) {
    return start < earliest || end > latest;
  };
  drop(kImpossible, static_cast<std::int64_t>(erase_if(trace_.events, [&](const Event& e) {
         return is_far(e.start_ns, e.end_ns);
       })));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace_.memory.size(); ++i) {
    if (is_far(trace_.memory[i].time_ns, trace_.memory[i].time_ns)) {
      drop(kImpossible);
      continue;
    }
    memory_process_[kept] = memory_process_[i];
    trace_.memory.set(kept++, trace_.memory[i]);
  }
  trace_.memory.truncate(kept);

  std::int64_t first = latest;
  for (const Event& e : trace_.events) first = std::min(first, e.start_ns);
  for (const MemoryEvent& m : trace_.memory) first = std::min(first, m.time_ns);
  trace_.events.update_all([&](Event& e) {
    e.start_ns -= first;
    e.end_ns -= first;
  });
  trace_.memory.update_all([&](MemoryEvent& m) { m.time_ns -= first; });
  return first;
}

// A rank for each device of each process that uses one; where no device is used at all, one for each
// process.
void Builder::find_ranks() {
  std::set<Key> devices;  // device first: ranks of one machine stand in their devices' order
  for (const Event& e : trace_.events) {
    const Location& location = locations_[static_cast<std::size_t>(e.lane)];
    if (location.device) devices.emplace(location.unit, location.process);
  }
  for (std::size_t i = 0; i < trace_.memory.size(); ++i) {
    devices.emplace(trace_.memory[i].rank, memory_process_[i]);
  }
  for (const auto& [device, process] : devices) {
    if (ranks_.size() >= kMaxPlaces) break;
    rank_of_device_[{process, device}] = static_cast<std::int32_t>(ranks_.size());
    ranks_.push_back({process, device});
  }
  if (!ranks_.empty()) return;
  std::set<std::int64_t> processes;
  for (const Location& location : locations_) processes.insert(location.process);
  for (const std::int64_t process : processes) ranks_.push_back({process, kNone});
}

std::string Builder::what_ranks_are() const {
  std::set<std::int64_t> processes;
  for (const RankDescription& rank : ranks_) processes.insert(rank.process);
  if (!ranks_.empty() && ranks_.front().device == kNone) return "processes without a device";
  return processes.size() == ranks_.size() ? "processes" : "devices of processes";
}

// thread's location -> rank -> launches of its that ran there.
std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> Builder::count_launches() const {
  std::vector<std::pair<Key, std::int32_t>> effects;  // (process, correlation) -> rank
  for (const Event& e : trace_.events) {
    const Location& location = locations_[static_cast<std::size_t>(e.lane)];
    if (!location.device || e.correlation == 0) continue;
    const auto rank = rank_of_device_.find({location.process, location.unit});
    if (rank != rank_of_device_.end()) {
      effects.push_back({{location.process, e.correlation}, rank->second});
    }
  }
  std::sort(effects.begin(), effects.end());
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> launches;
  for (const Event& e : trace_.events) {
    const Location& location = locations_[static_cast<std::size_t>(e.lane)];
    if (location.device || !can_launch(e)) continue;
    for (const std::int64_t process : {location.process, kNoProcess}) {
      const std::pair<Key, std::int32_t> cause{{process, e.correlation}, 0};
      const auto effect = std::lower_bound(effects.begin(), effects.end(), cause);
      if (effect == effects.end() || effect->first != cause.first) continue;
      ++launches[e.lane][effect->second];
      break;
    }
  }
  return launches;
}

// A thread belongs to the rank most of its launches ran on, else to its process's first.
std::vector<std::int32_t> Builder::ranks_of_locations() const {
  const auto launches = count_launches();
  std::map<std::int64_t, std::int32_t> first_of_process;
  for (std::size_t rank = ranks_.size(); rank-- > 0;) {
    first_of_process[ranks_[rank].process] = static_cast<std::int32_t>(rank);
  }
  std::vector<std::int32_t> result(locations_.size(), kNone);
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& location = locations_[i];
    if (location.device) {
      const auto rank = rank_of_device_.find({location.process, location.unit});
      if (rank != rank_of_device_.end()) result[i] = rank->second;
      continue;
    }
    const auto counts = launches.find(static_cast<std::int32_t>(i));
    const auto of_process = first_of_process.find(location.process);
    const auto unsaid = first_of_process.find(kNoProcess);
    if (counts != launches.end()) {
      result[i] =
          std::max_element(counts->second.begin(), counts->second.end(), [](auto& a, auto& b) {
            return a.second < b.second;
          })->first;
    } else if (of_process != first_of_process.end()) {
      result[i] = of_process->second;
    } else if (unsaid != first_of_process.end()) {
      result[i] = unsaid->second;
    }
  }
  return result;
}

void Builder::make_lanes() {
  const std::vector<std::int32_t> rank_of_location = ranks_of_locations();
  std::map<std::int32_t, std::set<std::int64_t>> contexts;
  std::vector<std::pair<std::tuple<std::int32_t, Location>, std::size_t>> order;
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (rank_of_location[i] == kNone) continue;
    order.push_back({{rank_of_location[i], locations_[i]}, i});
    if (locations_[i].device) contexts[rank_of_location[i]].insert(locations_[i].context);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int32_t> lane_of_location(locations_.size(), kNone);
  for (const auto& [key, i] : order) {
    const Location& location = locations_[i];
    const std::int32_t rank = rank_of_location[i];
    std::string name;
    if (!location.device && location.unit == kNone) {
      name = "synchronization";
    } else if (!location.device) {
      const auto named = thread_names_.find({location.process, location.unit});
      const std::string number = std::to_string(location.unit);
      name = named == thread_names_.end() ? "thread " + number
                                          : trace_.strings[named->second] + " " + number;
    } else {
      name = location.stream == kNone ? "device" : "stream " + std::to_string(location.stream);
      if (contexts[rank].size() > 1) {
        name += " of context " + std::to_string(location.context);
      }
    }
    lane_of_location[i] = static_cast<std::int32_t>(trace_.lanes.size());
    trace_.lanes.push_back({rank, location.device, trace_.strings.intern(name)});
  }
  trace_.events.update_all(
      [&](Event& e) { e.lane = lane_of_location[static_cast<std::size_t>(e.lane)]; });
  drop("host events of processes without a device",
       static_cast<std::int64_t>(
           erase_if(trace_.events, [](const Event& e) { return e.lane == kNone; })));
  for (std::size_t i = 0; i < trace_.memory.size(); ++i) {
    trace_.memory.update(i, [&](MemoryEvent& m) {
      const auto rank = rank_of_device_.find({memory_process_[i], m.rank});
      m.rank = rank == rank_of_device_.end() ? 0 : rank->second;
    });
  }
}

std::int64_t Builder::finish() {
  const std::int64_t first = count_from_first();
  close_open();
  find_ranks();
  make_lanes();
  sort(trace_);
  return first;
}

}  // namespace foreshard::traces::nsys
