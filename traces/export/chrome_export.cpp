#include "traces/export/chrome_export.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <unordered_map>
#include <vector>

#include "models/base/atomic_file.hpp"
#include "models/base/utf8.hpp"
#include "traces/export/text_output.hpp"
#include "traces/meaning/launches.hpp"
#include "traces/memory_tally.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {
namespace {

// Rows of a trace viewer: events of one thread must nest in Chrome's format; viewers drop events that
// overlap in another way.

struct ChromeRow {
  std::int32_t lane = 0;
  std::int32_t overflow = 0;  // 0: the lane's own row, else one more for what overlaps there
};

struct ChromeRows {
  std::vector<ChromeRow> rows;  // the lanes' own rows first, by lane
  std::vector<std::int32_t> row_of_event;
};

struct Open {
  std::int64_t end_ns = 0;
  bool is_work = false;
};

// Whether the event may stand in a row with these open, those that have ended being removed.
bool fits(std::vector<Open>& open, const Event& e) {
  while (!open.empty() && open.back().end_ns <= e.start_ns) open.pop_back();
  if (open.empty()) return true;
  return e.end_ns <= open.back().end_ns && !(open.back().is_work && is_device_work(e.kind));
}

constexpr std::int32_t kMaxRowsOfALane = 64;  // beyond, the last one takes all

// Work of a device gets a row of its own wherever it overlaps other work of its stream; everything
// else where it overlaps without nesting.
ChromeRows chrome_rows(const Trace& trace) {
  ChromeRows result;
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    result.rows.push_back({static_cast<std::int32_t>(lane), 0});
  }
  result.row_of_event.reserve(trace.events.size());
  struct LaneRow {
    std::int32_t row = 0;
    std::vector<Open> open;
  };
  std::vector<LaneRow> of_lane;
  std::int32_t lane = kNone;
  for (const Event& e : trace.events) {
    if (e.lane != lane) {
      lane = e.lane;
      of_lane.assign(1, {lane, {}});
    }
    std::size_t at = 0;
    while (at < of_lane.size() && !fits(of_lane[at].open, e)) ++at;
    if (at == of_lane.size() && at == kMaxRowsOfALane) --at;
    if (at == of_lane.size()) {
      of_lane.push_back({static_cast<std::int32_t>(result.rows.size()), {}});
      result.rows.push_back({lane, static_cast<std::int32_t>(at)});
    }
    of_lane[at].open.push_back({e.end_ns, is_device_work(e.kind)});
    result.row_of_event.push_back(of_lane[at].row);
  }
  return result;
}

class ChromeWriter {
 public:
  ChromeWriter(const Trace& trace, std::ostream& out)
      : trace_(trace), out_(out), rows_(chrome_rows(trace)) {}

  void write() {
    header();
    out_ << "\"displayTimeUnit\":\"ns\",\"otherData\":{\"complete\":\""
         << (trace_.complete ? "1" : "0") << "\",\"predicted\":\""
         << (metadata("predicted") == "1" ? "1" : "0") << "\"},\"traceEvents\":[";
    is_first_ = true;
    names();
    for (std::size_t i = 0; i < trace_.events.size(); ++i) event(i);
    arrows();
    memory_counters();
    counters();
    out_ << "\n]}\n";
  }

 private:
  // What viewers have no place for.
  void header() {
    out_ << "{\"foreshard\":{\"format\":" << kChromeFormatVersion
         << ",\"complete\":" << (trace_.complete ? "true" : "false")
         << ",\"complete_until_ns\":" << trace_.complete_until_ns;
    pairs("metadata", trace_.metadata, [&](const std::string& v) { out_.exact_json(v); });
    if (!trace_.dropped_ranges.empty()) dropped_ranges();
    pairs("dropped", trace_.dropped, [&](std::int64_t n) { out_ << n; });
    out_ << "},\n";
    array("foreshardLanes", trace_.lanes, [&](const Lane& lane) {
      out_ << "[" << lane.rank << "," << (lane.device ? "1" : "0") << ",";
      out_.exact_json(trace_.strings[lane.name]) << "]";
    });
    array("foreshardSteps", trace_.steps, [&](const Step& s) {
      out_ << "[" << s.rank << "," << s.step << "," << s.start_ns << "," << s.end_ns << ",";
      real(s.loss);
      out_ << ",";
      real(s.gradient_norm);
      if (s.label != 0) out_ << ",", out_.exact_json(trace_.strings[s.label]);
      out_ << "]";
    });
    array("foreshardCounters", trace_.counters, [&](const Counter& counter) {
      out_ << "[" << counter.rank << ",";
      out_.exact_json(trace_.strings[counter.name]) << ",";
      out_.exact_json(trace_.strings[counter.unit]) << "]";
    });
    memory_events();
  }

  void dropped_ranges() {
    out_ << ",\"dropped_ranges\":";
    const char* opening = "[[";
    for (const DroppedRange& range : trace_.dropped_ranges) {
      out_ << opening << range.rank << "," << (range.of_memory ? "1" : "0") << "," << range.start_ns
           << "," << range.end_ns << "," << range.records << "]";
      opening = ",[";
    }
    out_ << "]";
  }

  // Not an object: keys may be any bytes.
  template <typename Map, typename Write>
  void pairs(const char* name, const Map& map, Write&& write) {
    out_ << ",\"" << name << "\":[";
    const char* opening = "[";
    for (const auto& [key, value] : map) {
      out_ << opening;
      out_.exact_json(key) << ",";
      write(value);
      out_ << "]";
      opening = ",[";
    }
    out_ << "]";
  }

  template <typename Items, typename Write>
  void array(const char* name, const Items& items, Write&& write) {
    out_ << "\"" << name << "\":[";
    is_first_ = true;
    for (const auto& item : items) {
      out_ << (is_first_ ? "\n" : ",\n");
      is_first_ = false;
      write(item);
    }
    out_ << "\n],\n";
  }

  void real(double value) {
    if (std::isfinite(value)) {
      out_ << value;
    } else {
      out_ << (std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
    }
  }

  void memory_events() {
    std::unordered_map<StringId, std::int32_t> places;
    std::vector<StringId> used;
    const auto place = [&](StringId id) {
      const auto [found, is_new] = places.try_emplace(id, static_cast<std::int32_t>(used.size()));
      if (is_new) used.push_back(id);
      return found->second;
    };
    for (const MemoryEvent& m : trace_.memory) {
      for (const StringId id : {m.category, m.owner, m.phase, m.stack}) place(id);
    }
    array("foreshardStrings", used, [&](StringId id) { out_.exact_json(trace_.strings[id]); });
    array("foreshardMemory", trace_.memory, [&](const MemoryEvent& m) {
      out_ << "[" << m.time_ns << "," << m.rank << ",\"" << name(m.action) << "\","
           << (m.on_host ? "1" : "0") << "," << m.step << "," << m.address << "," << m.bytes << ","
           << m.requested << "," << m.lane << "," << place(m.category) << "," << place(m.owner)
           << "," << place(m.phase) << "," << m.instruction << "," << place(m.stack) << "]";
    });
  }

  std::string metadata(const std::string& key) const {
    const auto found = trace_.metadata.find(key);
    return found == trace_.metadata.end() ? "" : found->second;
  }

  std::int32_t rank_of(const Event& event) const {
    return trace_.lanes[static_cast<std::size_t>(event.lane)].rank;
  }
  std::int32_t row_of(std::size_t event) const { return rows_.row_of_event[event]; }

  // Opens the next object: {"ph":"X","pid":..,"tid":..,"ts":.. Viewers ignore thread 0.
  TextOutput& object(const char* phase, std::int32_t rank, std::int32_t row, std::int64_t time_ns) {
    out_ << (is_first_ ? "\n" : ",\n") << "{\"ph\":\"" << phase << "\",\"pid\":" << rank
         << ",\"tid\":" << row + 1 << ",\"ts\":";
    is_first_ = false;
    return out_.microseconds(time_ns);
  }

  void names() {
    std::set<std::int32_t> ranks;
    for (const Lane& lane : trace_.lanes) ranks.insert(lane.rank);
    for (const MemoryEvent& m : trace_.memory) ranks.insert(m.rank);
    for (const std::int32_t rank : ranks) {
      object("M", rank, -1, 0) << ",\"name\":\"process_name\",\"args\":{\"name\":\"rank " << rank
                               << "\"}}";
      object("M", rank, -1, 0) << ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":"
                               << rank << "}}";
      const std::string device = metadata("device." + std::to_string(rank));
      if (device.empty()) continue;
      object("M", rank, -1, 0) << ",\"name\":\"process_labels\",\"args\":{\"labels\":";
      out_.json(device) << "}}";
    }
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
      const ChromeRow& row = rows_.rows[i];
      const Lane& lane = trace_.lanes[static_cast<std::size_t>(row.lane)];
      const auto id = static_cast<std::int32_t>(i);
      std::string name = trace_.strings[lane.name];
      if (row.overflow > 0) name += " (overlapping)";
      object("M", lane.rank, id, 0) << ",\"name\":\"thread_name\",\"args\":{\"name\":";
      out_.json(name) << "}}";
      constexpr std::int64_t kRowsOfALane = 100;
      object("M", lane.rank, id, 0) << ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":"
                                    << row.lane * kRowsOfALane + row.overflow << "}}";
    }
  }

  void event(std::size_t index) {
    const Event& e = trace_.events[index];
    object("X", rank_of(e), row_of(index), e.start_ns) << ",\"dur\":";
    out_.microseconds(e.end_ns - e.start_ns) << ",\"cat\":\"" << name(e.kind) << "\",\"name\":";
    out_.json(trace_.strings[e.name])
        << ",\"args\":{\"step\":" << e.step << ",\"micro_step\":" << std::int32_t{e.micro_step};
    if (!is_utf8(trace_.strings[e.name])) text("name", e.name);
    if (row_of(index) != e.lane) out_ << ",\"lane\":" << e.lane;
    text("phase", e.phase);
    text("unit", e.unit);
    text("stable_key", e.stable_key);
    text("cost_key", e.cost_key);
    text("process_group", e.group);
    if (e.sequence > 0) out_ << ",\"sequence\":" << e.sequence;
    if (e.cost_source != CostSource::none) {
      out_ << ",\"cost_source\":\"" << name(e.cost_source) << "\"";
    }
    if (e.cost_error > 0) out_ << ",\"cost_error\":" << e.cost_error;
    if (e.instruction != kNone) out_ << ",\"instruction\":" << e.instruction;
    if (e.bytes != 0) out_ << ",\"bytes\":" << e.bytes;
    if (e.correlation != 0) out_ << ",\"correlation\":" << e.correlation;
    if (e.cpu_ns != -1) out_ << ",\"cpu_ns\":" << e.cpu_ns;
    out_ << "}}";
  }

  void text(const char* key, StringId id) {
    if (id == 0) return;
    out_ << ",\"" << key << "\":";
    out_.exact_json(trace_.strings[id]);
  }

  // From what the host issued to what the device did.
  void arrows() {
    const Launches launches(trace_);
    std::vector<std::pair<std::size_t, std::size_t>> effects;  // call and work
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      if (!is_device_work(trace_.events[i].kind) || launches.of(i) == Launches::kUnknown) continue;
      effects.emplace_back(static_cast<std::size_t>(launches.of(i)), i);
    }
    std::sort(effects.begin(), effects.end());
    std::int64_t id = 0;
    for (const auto& [call, work] : effects) {
      const Event &e = trace_.events[call], &d = trace_.events[work];
      object("s", rank_of(e), row_of(call), e.start_ns)
          << ",\"id\":" << ++id << ",\"cat\":\"issue\",\"name\":\"issue\"}";
      object("f", rank_of(d), row_of(work), d.start_ns)
          << ",\"id\":" << id << ",\"bp\":\"e\",\"cat\":\"issue\",\"name\":\"issue\"}";
    }
  }

  void memory_counters() {
    std::map<std::int32_t, MemoryTally> ranks;
    for (auto at = trace_.memory.begin(); at != trace_.memory.end(); ++at) {
      const MemoryEvent e = *at;
      if (e.action == MemoryAction::free_completed || e.action == MemoryAction::out_of_memory) {
        continue;
      }
      MemoryTally& replay = ranks[e.rank];
      replay.apply(at);
      const MemoryLevels& level = replay.levels();
      object("C", e.rank, -1, e.time_ns);
      if (e.on_host) {
        out_ << ",\"name\":\"host memory\",\"args\":{\"bytes\":" << level.host << "}}";
      } else {
        out_ << ",\"name\":\"device memory\",\"args\":{\"allocated\":" << level.allocated
             << ",\"reserved\":" << level.reserved;
        if (level.outside != 0) out_ << ",\"outside\":" << level.outside;
        out_ << "}}";
      }
    }
  }

  void counters() {
    for (std::size_t n = 0; n < trace_.counters.size(); ++n) {
      const Counter& counter = trace_.counters[n];
      const std::string& unit = trace_.strings[counter.unit];
      for (const CounterSample& sample : counter.samples) {
        object("C", counter.rank, -1, sample.time_ns) << ",\"name\":";
        out_.json(trace_.strings[counter.name]) << ",\"args\":{";
        out_.json(unit.empty() ? "value" : unit)
            << ":" << sample.value << "},\"counter\":" << static_cast<std::int64_t>(n) << "}";
      }
    }
  }

  const Trace& trace_;
  TextOutput out_;
  ChromeRows rows_;
  bool is_first_ = true;
};

}  // namespace

void write_chrome(const Trace& trace, std::ostream& out) {
  ChromeWriter(trace, out).write();
}

Result<void> export_chrome(const Trace& trace, const std::string& path) {
  return write_atomically(path, [&](std::ostream& out) { write_chrome(trace, out); });
}

}  // namespace foreshard::traces
