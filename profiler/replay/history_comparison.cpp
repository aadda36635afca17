#include "profiler/replay/history_comparison.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/replay/common_run.hpp"
#include "traces/allocator/allocator_replay.hpp"
#include "traces/allocator/labelled_history.hpp"

namespace foreshard::profiler {
namespace {

// What of an allocation history is compared with another one: its requests, frees and failures, in
// order, by their place among these.

class ComparedRequests {
 public:
  static constexpr std::size_t kUnknown = SIZE_MAX;

  explicit ComparedRequests(const traces::LabelledHistory& history);

  std::size_t size() const { return numbers_.size(); }
  std::size_t number(std::size_t i) const { return numbers_[i]; }  // of the event in the history
  const traces::HistoryEvent& event(std::size_t i) const {
    return history_.history.events[numbers_[i]];
  }
  // The place of the request that a free ends, kUnknown where it is not in the history; of a request
  // its own.
  std::size_t requested(std::size_t i) const { return requested_[i]; }
  const std::string& stream(std::size_t i) const {
    return history_.streams[static_cast<std::size_t>(event(i).stream)];
  }
  const traces::EventLabels& labels(std::size_t i) const { return history_.labels[numbers_[i]]; }
  const std::string& text(traces::StringId id) const { return history_.texts[id]; }

  // A number for each, equal where action and size are.
  std::vector<std::uint64_t> actions_and_sizes() const;
  ComparedEvent shown(std::size_t i) const;

 private:
  const traces::LabelledHistory& history_;
  std::vector<std::size_t> numbers_, requested_;
};

using traces::AllocatorAction;

bool is_compared(AllocatorAction action) {
  return action == AllocatorAction::alloc || action == AllocatorAction::free_requested ||
         action == AllocatorAction::oom;
}

ComparedRequests::ComparedRequests(const traces::LabelledHistory& history) : history_(history) {
  std::unordered_map<Address, std::size_t> live;
  const auto& events = history.history.events;
  for (std::size_t n = 0; n < events.size(); ++n) {
    if (!is_compared(events[n].action)) continue;
    std::size_t requested = numbers_.size();
    if (events[n].action == AllocatorAction::alloc) live[events[n].address] = requested;
    if (events[n].action == AllocatorAction::free_requested) {
      const auto block = live.find(events[n].address);
      requested = block == live.end() ? kUnknown : block->second;
      if (block != live.end()) live.erase(block);
    }
    numbers_.push_back(n);
    requested_.push_back(requested);
  }
}

std::vector<std::uint64_t> ComparedRequests::actions_and_sizes() const {
  std::vector<std::uint64_t> values;
  values.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const auto action = static_cast<std::uint64_t>(event(i).action);
    values.push_back(static_cast<std::uint64_t>(event(i).bytes) << 4 | action);
  }
  return values;
}

ComparedEvent ComparedRequests::shown(std::size_t i) const {
  const traces::EventLabels& own = labels(i);
  const traces::EventLabels& of = requested_[i] == kUnknown ? own : labels(requested_[i]);
  return {numbers_[i],     event(i).action, event(i).bytes, stream(i),   own.step,
          text(own.phase), text(of.module), text(own.call), text(of.op), text(of.category)};
}

using traces::AllocatorAction;
using traces::HistoryEvent;
using traces::LabelledHistory;

constexpr std::size_t kShownBefore = 6, kShownAfter = 6;
constexpr std::size_t kMaxSurplus = 50;

// Which streams of two histories are the same, as far as events have shown it.
class StreamPairs {
 public:
  StreamPairs(const std::vector<std::string>& baseline, const std::vector<std::string>& candidate) {
    for (const std::string& name : baseline) {
      if (std::find(candidate.begin(), candidate.end(), name) != candidate.end()) match(name, name);
    }
  }
  bool match(const std::string& baseline, const std::string& candidate) {
    const auto a = of_baseline_.find(baseline), b = of_candidate_.find(candidate);
    if (a == of_baseline_.end() && b == of_candidate_.end()) {
      of_baseline_.emplace(baseline, candidate);
      of_candidate_.emplace(candidate, baseline);
      return true;
    }
    return a != of_baseline_.end() && a->second == candidate;
  }
  const std::map<std::string, std::string>& all() const { return of_baseline_; }

 private:
  std::map<std::string, std::string> of_baseline_, of_candidate_;
};

class HistoryComparer {
 public:
  HistoryComparer(const LabelledHistory& baseline, const LabelledHistory& candidate)
      : baseline_(baseline),
        candidate_(candidate),
        a_(baseline),
        b_(candidate),
        streams_(baseline.streams, candidate.streams) {}

  HistoryComparison run() {
    const bool are_apart = baseline_.history.start != candidate_.history.start;
    if (are_apart) {
      const CommonRun run = longest_common_run(a_.actions_and_sizes(), b_.actions_and_sizes());
      first_a_ = run.a;
      first_b_ = run.b;
    }
    describe(result_.baseline, baseline_, a_, first_a_);
    describe(result_.candidate, candidate_, b_, first_b_);
    if (are_apart) result_.aligned_at = pair(0);
    const std::size_t most = std::min(result_.baseline.compared, result_.candidate.compared);
    while (result_.equal < most && is_equal(result_.equal)) note_free(result_.equal++);
    if (result_.equal < most) result_.first_difference = pair(result_.equal);
    show_surroundings();
    result_.streams = streams_.all();
    find_surplus();
    return std::move(result_);
  }

 private:
  static void describe(HistorySide& side, const LabelledHistory& history,
                       const ComparedRequests& requests, std::size_t first) {
    side.events = history.history.events.size();
    side.compared = requests.size() - first;
    side.first = first < requests.size() ? requests.number(first) : side.events;
    traces::ReplayOptions options;
    if (history.history.capacity) options.capacity = *history.history.capacity;
    const auto replayed = traces::replay(history.history, options);
    if (replayed) side.peak_allocated = replayed->statistics.peak_allocated;
    side.peak_reserved = recorded_figures(history.history).peak_reserved;
  }

  // Of the i-th events after those at which the comparison begins.
  bool is_equal(std::size_t i) {
    const HistoryEvent &a = a_.event(first_a_ + i), &b = b_.event(first_b_ + i);
    return a.action == b.action && a.bytes == b.bytes &&
           streams_.match(a_.stream(first_a_ + i), b_.stream(first_b_ + i));
  }

  EventPair pair(std::size_t i) const {
    EventPair both;
    if (i < result_.baseline.compared) both.baseline = a_.shown(first_a_ + i);
    if (i < result_.candidate.compared) both.candidate = b_.shown(first_b_ + i);
    return both;
  }

  // Whether equal frees are of requests at the same place, as far as both are known.
  void note_free(std::size_t i) {
    const std::size_t a = a_.requested(first_a_ + i), b = b_.requested(first_b_ + i);
    if (a == ComparedRequests::kUnknown || b == ComparedRequests::kUnknown) return;
    if (a < first_a_ || b < first_b_ || a - first_a_ == b - first_b_) return;
    if (result_.frees_of_other_requests++ == 0) result_.first_free_of_other_request = pair(i);
  }

  void show_surroundings() {
    const std::size_t at = result_.equal;
    const std::size_t end = std::max(result_.baseline.compared, result_.candidate.compared);
    if (at == end) return;
    for (std::size_t i = at - std::min(at, kShownBefore); i < at; ++i) {
      result_.before.push_back(pair(i));
    }
    const std::size_t next = result_.first_difference ? at + 1 : at;
    for (std::size_t i = next; i < std::min(next + kShownAfter, end); ++i) {
      result_.after.push_back(pair(i));
    }
  }

  struct Count {
    std::int64_t count = 0;
    std::string module;
  };
  using Operators = std::map<std::string, Count>;
  using Sizes = std::map<std::int64_t, Operators>;

  static Sizes requests_by_size(const ComparedRequests& requests, std::size_t first,
                                std::size_t count) {
    Sizes sizes;
    for (std::size_t i = first; i < first + count; ++i) {
      if (requests.event(i).action != AllocatorAction::alloc) continue;
      const traces::EventLabels& labels = requests.labels(i);
      const traces::StringId what = labels.op != 0 ? labels.op : labels.category;
      Count& group = sizes[requests.event(i).bytes][requests.text(what)];
      if (group.count++ == 0) group.module = requests.text(labels.module);
    }
    return sizes;
  }

  // A recording that begins in the middle of a run ends in it too.
  void find_surplus() {
    std::size_t of_a = result_.baseline.compared, of_b = result_.candidate.compared;
    if (result_.aligned_at) of_a = of_b = std::min(of_a, of_b);
    Sizes a = requests_by_size(a_, first_a_, of_a), b = requests_by_size(b_, first_b_, of_b);
    for (auto& [bytes, operators] : a) {
      Operators& others = b[bytes];
      cancel(operators, others);
      add_surplus(false, bytes, operators);
    }
    for (const auto& [bytes, operators] : b) add_surplus(true, bytes, operators);
    const auto all_bytes = [](const RequestSurplus& group) {
      return static_cast<double>(group.bytes) * static_cast<double>(group.count);
    };
    std::sort(result_.surplus.begin(), result_.surplus.end(),
              [&](const RequestSurplus& x, const RequestSurplus& y) {
                return std::tuple(all_bytes(y), x.is_of_candidate, x.bytes, x.op) <
                       std::tuple(all_bytes(x), y.is_of_candidate, y.bytes, y.op);
              });
    if (result_.surplus.size() > kMaxSurplus) result_.surplus.resize(kMaxSurplus);
  }

  // Requests of one size stand for one another, first those of operators with the same name.
  static void cancel(Operators& a, Operators& b) {
    for (auto& [op, count] : a) {
      const auto same = b.find(op);
      if (same != b.end()) cancel(count, same->second);
    }
    for (auto& [op, count] : a) {
      for (auto& [other, its] : b) cancel(count, its);
    }
  }
  static void cancel(Count& a, Count& b) {
    const std::int64_t both = std::min(a.count, b.count);
    a.count -= both;
    b.count -= both;
  }

  void add_surplus(bool is_of_candidate, std::int64_t bytes, const Operators& operators) {
    for (const auto& [op, left] : operators) {
      if (left.count == 0) continue;
      result_.surplus.push_back({is_of_candidate, bytes, op, left.module, left.count});
    }
  }

  const LabelledHistory &baseline_, &candidate_;
  ComparedRequests a_, b_;
  StreamPairs streams_;
  std::size_t first_a_ = 0, first_b_ = 0;
  HistoryComparison result_;
};

}  // namespace

HistoryComparison compare_histories(const LabelledHistory& baseline,
                                    const LabelledHistory& candidate) {
  return HistoryComparer(baseline, candidate).run();
}

}  // namespace foreshard::profiler
