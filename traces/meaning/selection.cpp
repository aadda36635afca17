#include "traces/meaning/selection.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "models/base/figures.hpp"
#include "models/base/number_ranges.hpp"
#include "traces/intervals.hpp"
#include "traces/meaning/steady_steps.hpp"
#include "traces/memory_before.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min(),
                       kLatest = std::numeric_limits<std::int64_t>::max();

bool has(const std::vector<NumberRange>& ranges, std::int32_t number) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const NumberRange& range) {
           return range.contains(number);
         });
}

// "ranks 0 to 3, 8", "step 4".
std::string named(const std::string& what, const std::set<std::int32_t>& numbers) {
  std::string text = what + (numbers.size() == 1 ? " " : "s ");
  bool is_first = true;
  for (const std::string& range : number_ranges({numbers.begin(), numbers.end()})) {
    text += (is_first ? "" : ", ") + range;
    is_first = false;
  }
  return text;
}

// The memory of one rank: what is selected of its events, and at the beginning of each stretch of them
// what those that are left out have changed until then.
class RankMemory {
 public:
  // It begins at `start_ns`, in `step`.
  RankMemory(std::int64_t start_ns, std::int32_t step, MemoryEventList& out)
      : start_ns_(start_ns), step_(step), out_(out) {}

  void take(const MemoryEvent& event) {
    if (event.time_ns > start_ns_) begin();
    catch_up(event.time_ns, event.step);
    out_.push_back(event);
  }
  void leave_out(const MemoryEvent& event) {
    if (event.time_ns >= start_ns_) begin();
    left_out_.apply(event);
    if (event.action != MemoryAction::free_requested) return;
    // That a stream may still use it is of no account here: it would be allocated again for a moment.
    MemoryEvent completed = event;
    completed.action = MemoryAction::free_completed;
    left_out_.apply(completed);
  }
  void begin() {
    if (!has_begun_) catch_up(start_ns_, step_);
  }

 private:
  void catch_up(std::int64_t time_ns, std::int32_t step) {
    for (MemoryEvent event : left_out_.at(time_ns)) {
      if (event.action == MemoryAction::free_completed) continue;
      event.step = step;
      out_.push_back(event);
    }
    left_out_ = {};
    has_begun_ = true;
  }

  std::int64_t start_ns_;
  std::int32_t step_;
  MemoryEventList& out_;
  MemoryBefore left_out_;
  bool has_begun_ = false;
};

class Cut {
 public:
  Cut(Trace trace, const Selection& selection, const std::string& file)
      : trace_(std::move(trace)),
        selection_(selection),
        file_(file),
        stretch_{selection.from_ns.value_or(kEarliest), selection.to_ns.value_or(kLatest)} {}

  Result<Trace> part() {
    if (auto ok = choose_ranks(); !ok) return tl::unexpected(ok.error());
    if (auto ok = choose_steps(); !ok) return tl::unexpected(ok.error());
    const Interval recorded = recorded_time();
    cut_lanes();
    cut_events();
    cut_memory();
    cut_dropped_ranges();
    cut_counters();
    if (trace_.events.empty() && trace_.steps.empty() && !has_memory_) {
      const bool is_timed = selection_.from_ns || selection_.to_ns;
      return fail(file_, is_timed ? "--from, --to" : "--step",
                  "has nothing there; expected a part of the recording, which is from " +
                      duration(recorded.start_ns) + " to " + duration(recorded.end_ns));
    }
    trace_.complete = trace_.complete || stretch_.end_ns <= trace_.complete_until_ns;
    trace_.metadata["selection"] = in_words();
    sort(trace_);
    return std::move(trace_);
  }

 private:
  tl::unexpected<Error> nothing_of(const std::string& option, const std::string& what,
                                   const std::set<std::int32_t>& there) const {
    return fail(
        file_, option,
        there.empty()
            ? "selects nothing, as the recording has no " + what + "s; expected one that has"
            : "selects nothing; expected some of the recording's " + named(what, there));
  }

  Result<void> choose_ranks() {
    std::set<std::int32_t> there;
    for (const Lane& lane : trace_.lanes) there.insert(lane.rank);
    for (const MemoryEvent& event : trace_.memory) there.insert(event.rank);
    for (const std::int32_t rank : there) {
      if (has(selection_.ranks, rank)) ranks_.insert(rank);
    }
    trace_.metadata["recorded_ranks"] = std::to_string(there.size());
    if (ranks_.empty()) return nothing_of("--rank", "rank", there);
    return {};
  }

  // Which steps are there, and within which time of each rank they ran.
  Result<void> choose_steps() {
    std::erase_if(trace_.steps, [&](const Step& step) { return !ranks_.contains(step.rank); });
    std::map<std::pair<std::int32_t, std::int32_t>, DeviceStep> on_device;
    for (const DeviceStep& step : device_steps(trace_.steps, device_ends(trace_))) {
      on_device[{step.rank, step.step}] = step;
    }
    std::set<std::int32_t> there;
    for (const Step& step : trace_.steps) {
      there.insert(step.step);
      if (has(selection_.steps, step.step)) steps_.insert(step.step);
    }
    if (!selection_.steps.empty() && steps_.empty()) return nothing_of("--step", "step", there);
    std::vector<Step> kept;
    for (Step step : trace_.steps) {
      if (!steps_.contains(step.step)) continue;
      Interval time{step.start_ns, step.end_ns};
      if (const auto device = on_device.find({step.rank, step.step}); device != on_device.end()) {
        step.device_start_ns = std::max(device->second.start_ns, stretch_.start_ns);
        time = {std::min(time.start_ns, device->second.start_ns),
                std::max(time.end_ns, device->second.end_ns)};
      }
      times_[step.rank].push_back(time);
      if (step.start_ns >= stretch_.start_ns && time.end_ns <= stretch_.end_ns)
        kept.push_back(step);
    }
    trace_.steps = std::move(kept);
    for (auto& [rank, times] : times_) times = united(std::move(times));
    return {};
  }

  Interval recorded_time() const {
    Interval whole{kLatest, 0};
    const auto add = [&](std::int64_t start_ns, std::int64_t end_ns) {
      whole = {std::min(whole.start_ns, start_ns), std::max(whole.end_ns, end_ns)};
    };
    for (const Event& event : trace_.events) add(event.start_ns, event.end_ns);
    for (const MemoryEvent& event : trace_.memory) add(event.time_ns, event.time_ns);
    return whole.start_ns == kLatest ? Interval{} : whole;
  }

  void cut_lanes() {
    std::vector<Lane> kept;
    for (const Lane& lane : trace_.lanes) {
      const bool is_kept = ranks_.contains(lane.rank);
      lanes_.push_back(is_kept ? static_cast<std::int32_t>(kept.size()) : kNone);
      if (is_kept) kept.push_back(lane);
    }
    whole_lanes_ = std::exchange(trace_.lanes, std::move(kept));
  }

  // Within what an event counts; nothing where it is left out.
  std::optional<Interval> bounds_of(const Event& event, std::int32_t rank) const {
    if (steps_.contains(event.step) || selection_.steps.empty()) return stretch_;
    if (event.step != 0) return std::nullopt;
    const auto times = times_.find(rank);
    if (times == times_.end()) return std::nullopt;
    const auto time =
        std::find_if(times->second.begin(), times->second.end(),
                     [&](const Interval& one) { return one.end_ns > event.start_ns; });
    if (time == times->second.end() || time->start_ns >= event.end_ns) return std::nullopt;
    return Interval{std::max(time->start_ns, stretch_.start_ns),
                    std::min(time->end_ns, stretch_.end_ns)};
  }

  void cut_events() {
    const auto cut = [&](Event& event) {
      const auto lane = static_cast<std::size_t>(event.lane);
      if (lanes_[lane] == kNone) return false;
      const auto bounds = bounds_of(event, whole_lanes_[lane].rank);
      if (!bounds) return false;
      const bool begins_before = event.start_ns < bounds->start_ns;
      const bool ends_after = event.end_ns > bounds->end_ns;
      if (begins_before && event.end_ns <= bounds->start_ns) return false;
      if (ends_after && event.start_ns >= bounds->end_ns) return false;
      event.lane = lanes_[lane];
      if (begins_before || ends_after) {
        event.start_ns = std::max(event.start_ns, bounds->start_ns);
        event.end_ns = std::min(event.end_ns, bounds->end_ns);
        event.bytes = 0;
        event.cost_key = 0;
      }
      return true;
    };
    erase_if(trace_.events, [&](Event event) { return !cut(event); });
    trace_.events.update_all(cut);
  }

  void cut_memory() {
    MemoryEventList kept;
    for (std::size_t at = 0; at < trace_.memory.size();) {
      const std::int32_t rank = trace_.memory[at].rank;
      RankMemory memory(start_of(rank), steps_.empty() ? 0 : *steps_.begin(), kept);
      for (; at < trace_.memory.size() && trace_.memory[at].rank == rank; ++at) {
        MemoryEvent event = trace_.memory[at];
        if (!ranks_.contains(rank)) continue;
        if (event.lane != kNone) event.lane = lanes_[static_cast<std::size_t>(event.lane)];
        const bool is_selected = (selection_.steps.empty() || steps_.contains(event.step)) &&
                                 event.time_ns >= stretch_.start_ns &&
                                 event.time_ns <= stretch_.end_ns;
        if (is_selected) {
          memory.take(event);
        } else {
          memory.leave_out(event);
        }
        has_memory_ = has_memory_ || is_selected;
      }
      memory.begin();
    }
    trace_.memory = std::move(kept);
  }

  std::int64_t start_of(std::int32_t rank) const {
    const auto times = times_.find(rank);
    const bool has_steps = !selection_.steps.empty() && times != times_.end();
    return std::max(stretch_.start_ns, has_steps ? times->second.front().start_ns : kEarliest);
  }

  void cut_dropped_ranges() {
    std::erase_if(trace_.dropped_ranges, [&](const DroppedRange& range) {
      return (range.rank != kNone && !ranks_.contains(range.rank)) ||
             range.end_ns < stretch_.start_ns || range.start_ns > stretch_.end_ns;
    });
  }

  void cut_counters() {
    std::erase_if(trace_.counters,
                  [&](const Counter& counter) { return !ranks_.contains(counter.rank); });
    for (Counter& counter : trace_.counters) {
      const auto times = times_.find(counter.rank);
      const bool has_steps = !selection_.steps.empty() && times != times_.end();
      cut(counter, {start_of(counter.rank),
                    std::min(stretch_.end_ns, has_steps ? times->second.back().end_ns : kLatest)});
    }
  }

  std::string in_words() const {
    std::string text;
    const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
    if (!selection_.ranks.empty()) add(named("rank", ranks_));
    if (!selection_.steps.empty()) add(named("step", steps_));
    const std::string from = selection_.from_ns ? "from " + duration(*selection_.from_ns) : "",
                      to = selection_.to_ns ? "to " + duration(*selection_.to_ns) : "";
    if (!from.empty() || !to.empty()) add(from + (from.empty() || to.empty() ? "" : " ") + to);
    return text;
  }

  Trace trace_;
  const Selection& selection_;
  const std::string& file_;
  Interval stretch_;
  std::set<std::int32_t> ranks_, steps_;
  std::map<std::int32_t, std::vector<Interval>> times_;  // of selected steps, by rank
  std::vector<Lane> whole_lanes_;                        // the lanes of the whole
  std::vector<std::int32_t> lanes_;                      // their numbers in the part, or kNone
  bool has_memory_ = false;                              // that was recorded in the part
};

}  // namespace

Result<Trace> part_of(Trace trace, const Selection& selection, const std::string& file) {
  if (selection.is_everything()) return trace;
  return Cut(std::move(trace), selection, file).part();
}

}  // namespace foreshard::traces
