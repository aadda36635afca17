#include "traces/nsys/builder.hpp"

#include <algorithm>
#include <set>

#include "traces/launches.hpp"

namespace foreshard::traces::nsys {
namespace {

constexpr std::size_t kMostPlaces = 100'000;
constexpr std::int64_t kLongest = std::int64_t{1} << 53;  // ns: a hundred days
constexpr std::int64_t kOpen = -2;  // as an event's processor time: its end is not known yet
constexpr const char* kImpossible = "impossible records: times";

}  // namespace

std::int32_t Builder::number(const Place& place) {
  const auto found = numbers_.find(place);
  if (found != numbers_.end()) return found->second;
  if (places_.size() >= kMostPlaces) return kNone;
  places_.push_back(place);
  if (place.device) device_of_context_.try_emplace({place.process, place.context}, place.unit);
  return numbers_[place] = static_cast<std::int32_t>(places_.size()) - 1;
}

bool Builder::add(const Place& place, Event event) {
  if (event.end_ns < event.start_ns || event.start_ns < -kLongest * 256 ||
      event.end_ns > kLongest * 256) {
    drop(kImpossible);
    return false;
  }
  event.lane = number(place);
  if (event.lane == kNone) {
    drop("more threads and streams than " + std::to_string(kMostPlaces));
    return false;
  }
  trace_.events.push_back(event);
  return true;
}

void Builder::add_open(const Place& place, Event event) {
  event.end_ns = event.start_ns;
  event.cpu_ns = kOpen;
  add(place, event);
}

void Builder::add(std::int64_t process, std::int64_t device, MemoryEvent event) {
  event.rank = static_cast<std::int32_t>(std::clamp<std::int64_t>(device, 0, 1'000'000));
  trace_.memory.push_back(event);
  memory_process_.push_back(process);
}

std::int64_t Builder::device_of(std::int64_t process, std::int64_t context,
                                std::int64_t otherwise) const {
  const auto found = device_of_context_.find({process, context});
  return found == device_of_context_.end() ? otherwise : found->second;
}

void Builder::name_thread(std::int64_t process, std::int64_t thread, StringId name) {
  if (thread_names_.size() < kMostPlaces) thread_names_[{process, thread}] = name;
}

void Builder::close_open() {
  std::int64_t last = 0, open = 0;
  for (const Event& e : trace_.events) last = std::max(last, e.end_ns);
  for (Event& e : trace_.events) {
    if (e.cpu_ns != kOpen) continue;
    e.end_ns = last;
    e.cpu_ns = -1;
    ++open;
  }
  drop("ranges without an end, closed at the end of the recording", open);
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
  drop(kImpossible, static_cast<std::int64_t>(std::erase_if(
                        trace_.events, [&](auto& e) { return is_far(e.start_ns, e.end_ns); })));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace_.memory.size(); ++i) {
    if (is_far(trace_.memory[i].time_ns, trace_.memory[i].time_ns)) {
      drop(kImpossible);
      continue;
    }
    memory_process_[kept] = memory_process_[i];
    trace_.memory[kept++] = trace_.memory[i];
  }
  trace_.memory.resize(kept);

  std::int64_t first = latest;
  for (const Event& e : trace_.events) first = std::min(first, e.start_ns);
  for (const MemoryEvent& m : trace_.memory) first = std::min(first, m.time_ns);
  for (Event& e : trace_.events) {
    e.start_ns -= first;
    e.end_ns -= first;
  }
  for (MemoryEvent& m : trace_.memory) m.time_ns -= first;
  return first;
}

// A rank for each device of each process that uses one; where no device is used at all, one for each
// process.
void Builder::find_ranks() {
  std::set<Key> devices;  // device first: ranks of one machine stand in their devices' order
  for (const Event& e : trace_.events) {
    const Place& place = places_[static_cast<std::size_t>(e.lane)];
    if (place.device) devices.emplace(place.unit, place.process);
  }
  for (std::size_t i = 0; i < trace_.memory.size(); ++i) {
    devices.emplace(trace_.memory[i].rank, memory_process_[i]);
  }
  for (const auto& [device, process] : devices) {
    if (ranks_.size() >= kMostPlaces) break;
    rank_of_device_[{process, device}] = static_cast<std::int32_t>(ranks_.size());
    ranks_.push_back({process, device});
  }
  if (!ranks_.empty()) return;
  std::set<std::int64_t> processes;
  for (const Place& place : places_) processes.insert(place.process);
  for (const std::int64_t process : processes) ranks_.push_back({process, kNone});
}

std::string Builder::what_ranks_are() const {
  std::set<std::int64_t> processes;
  for (const RankDescription& rank : ranks_) processes.insert(rank.process);
  if (!ranks_.empty() && ranks_.front().device == kNone) return "processes without a device";
  return processes.size() == ranks_.size() ? "processes" : "devices of processes";
}

// thread's place -> rank -> launches of its that ran there.
std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> Builder::count_launches() const {
  std::vector<std::pair<Key, std::int32_t>> effects;  // (process, correlation) -> rank
  for (const Event& e : trace_.events) {
    const Place& place = places_[static_cast<std::size_t>(e.lane)];
    if (!place.device || e.correlation == 0) continue;
    const auto rank = rank_of_device_.find({place.process, place.unit});
    if (rank != rank_of_device_.end()) {
      effects.push_back({{place.process, e.correlation}, rank->second});
    }
  }
  std::sort(effects.begin(), effects.end());
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> launches;
  for (const Event& e : trace_.events) {
    const Place& place = places_[static_cast<std::size_t>(e.lane)];
    if (place.device || !can_launch(e)) continue;
    for (const std::int64_t process : {place.process, kNoProcess}) {
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
std::vector<std::int32_t> Builder::ranks_of_places() const {
  const auto launches = count_launches();
  std::map<std::int64_t, std::int32_t> first_of_process;
  for (std::size_t rank = ranks_.size(); rank-- > 0;) {
    first_of_process[ranks_[rank].process] = static_cast<std::int32_t>(rank);
  }
  std::vector<std::int32_t> result(places_.size(), kNone);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (place.device) {
      const auto rank = rank_of_device_.find({place.process, place.unit});
      if (rank != rank_of_device_.end()) result[i] = rank->second;
      continue;
    }
    const auto counts = launches.find(static_cast<std::int32_t>(i));
    const auto of_process = first_of_process.find(place.process);
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
  const std::vector<std::int32_t> rank_of_place = ranks_of_places();
  std::map<std::int32_t, std::set<std::int64_t>> contexts;
  std::vector<std::pair<std::tuple<std::int32_t, Place>, std::size_t>> order;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (rank_of_place[i] == kNone) continue;
    order.push_back({{rank_of_place[i], places_[i]}, i});
    if (places_[i].device) contexts[rank_of_place[i]].insert(places_[i].context);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int32_t> lane_of_place(places_.size(), kNone);
  for (const auto& [key, i] : order) {
    const Place& place = places_[i];
    const std::int32_t rank = rank_of_place[i];
    std::string name;
    if (!place.device && place.unit == kNone) {
      name = "synchronization";
    } else if (!place.device) {
      const auto named = thread_names_.find({place.process, place.unit});
      const std::string number = std::to_string(place.unit);
      name = named == thread_names_.end() ? "thread " + number
                                          : trace_.strings[named->second] + " " + number;
    } else {
      name = place.stream == kNone ? "device" : "stream " + std::to_string(place.stream);
      if (contexts[rank].size() > 1) {
        name += " of context " + std::to_string(place.context);
      }
    }
    lane_of_place[i] = static_cast<std::int32_t>(trace_.lanes.size());
    trace_.lanes.push_back({rank, place.device, trace_.strings.intern(name)});
  }
  for (Event& e : trace_.events) e.lane = lane_of_place[static_cast<std::size_t>(e.lane)];
  drop("host events of processes that use no device",
       static_cast<std::int64_t>(
           std::erase_if(trace_.events, [](const Event& e) { return e.lane == kNone; })));
  for (std::size_t i = 0; i < trace_.memory.size(); ++i) {
    MemoryEvent& m = trace_.memory[i];
    const auto rank = rank_of_device_.find({memory_process_[i], m.rank});
    m.rank = rank == rank_of_device_.end() ? 0 : rank->second;
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
