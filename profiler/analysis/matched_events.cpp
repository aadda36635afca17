#include "profiler/analysis/matched_events.hpp"

#include <algorithm>
#include <charconv>

namespace foreshard::profiler {
namespace {

// The compared events of one rank in one step.
std::vector<std::int32_t> compared_events(const traces::Trace& trace, std::int32_t rank,
                                          std::int32_t step) {
  std::vector<std::int32_t> found;
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    const traces::Event& event = trace.events[n];
    if (event.step == step && is_compared(event.kind) &&
        trace.lanes[static_cast<std::size_t>(event.lane)].rank == rank) {
      found.push_back(static_cast<std::int32_t>(n));
    }
  }
  return found;
}

}  // namespace

bool is_compared(traces::EventKind kind) {
  return traces::is_device_work(kind) || kind == traces::EventKind::host_compute;
}

std::set<std::int32_t> ranks_of(const traces::Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const traces::Lane& lane : trace.lanes) ranks.insert(lane.rank);
  for (const traces::MemoryEvent& e : trace.memory) ranks.insert(e.rank);
  return ranks;
}

RankCounterparts::RankCounterparts(const traces::Trace& baseline, const traces::Trace& candidate) {
  const std::set<std::int32_t> ours = ranks_of(baseline), theirs = ranks_of(candidate);
  if (ours.size() == 1 && theirs.size() == 1) {
    only_ = {*ours.begin(), *theirs.begin()};
    return;
  }
  const auto classes = candidate.metadata.find("rank_classes");
  if (classes == candidate.metadata.end()) return;
  const std::string& text = classes->second;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    std::int32_t rank = 0;
    at = std::from_chars(at, end, rank).ptr;
    stands_for_.push_back(rank);
  }
}

std::int32_t RankCounterparts::operator()(std::int32_t rank) const {
  if (only_ && rank == only_->first) return only_->second;
  const auto index = static_cast<std::size_t>(rank);
  return index < stands_for_.size() ? stands_for_[index] : rank;
}

std::optional<EventKey> event_key(const traces::Trace& trace, const traces::Event& event) {
  if (event.stable_key == 0) return std::nullopt;
  const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
  return EventKey{lane.rank, lane.device, trace.strings[event.stable_key]};
}

MatchedEvents matched_events(const traces::Trace& baseline, std::int32_t rank,
                             std::int32_t baseline_step, const traces::Trace& candidate,
                             std::int32_t candidate_step) {
  const std::int32_t other_rank = RankCounterparts(baseline, candidate)(rank);
  const auto event_of = [](const traces::Trace& trace, std::int32_t n) {
    return trace.events[static_cast<std::size_t>(n)];
  };
  MatchedEvents result;
  std::multimap<EventKey, std::int32_t> theirs;
  std::map<EventKey, EventMatch> last_pair;
  for (const std::int32_t n : compared_events(candidate, other_rank, candidate_step)) {
    if (auto key = event_key(candidate, event_of(candidate, n))) {
      theirs.emplace(std::move(*key), n);
    } else {
      result.only_candidate.push_back(n);
    }
  }
  for (const std::int32_t n : compared_events(baseline, rank, baseline_step)) {
    auto key = event_key(baseline, event_of(baseline, n));
    if (key) key->rank = other_rank;
    // Of events with the same key the first is the first one's counterpart, and the last that of all
    // the others: an instruction may be one event here and several kernels there.
    const auto other = key ? theirs.lower_bound(*key) : theirs.end();
    if (other != theirs.end() && other->first == *key) {
      result.pairs.push_back({n, other->second});
      last_pair[*key] = result.pairs.back();
      theirs.erase(other);
    } else if (const auto pair = key ? last_pair.find(*key) : last_pair.end();
               pair != last_pair.end()) {
      result.pairs.push_back({n, pair->second.candidate});
    } else {
      result.only_baseline.push_back(n);
    }
  }
  std::erase_if(theirs, [&](const auto& one) {
    const auto pair = last_pair.find(one.first);
    if (pair != last_pair.end()) result.pairs.push_back({pair->second.baseline, one.second});
    return pair != last_pair.end();
  });
  for (const auto& [key, n] : theirs) result.only_candidate.push_back(n);
  std::sort(result.only_candidate.begin(), result.only_candidate.end());
  std::stable_sort(
      result.pairs.begin(), result.pairs.end(), [&](const EventMatch& a, const EventMatch& b) {
        return event_of(baseline, a.baseline).start_ns < event_of(baseline, b.baseline).start_ns;
      });
  return result;
}

}  // namespace foreshard::profiler
