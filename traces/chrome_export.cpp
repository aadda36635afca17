#include "traces/chrome_export.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include "traces/text_output.hpp"

namespace foreshard::traces {
namespace {

class ChromeWriter {
 public:
  ChromeWriter(const Trace& trace, std::ostream& out) : trace_(trace), out_(out) {}

  void write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"complete\":\""
         << (trace_.complete ? "1" : "0") << "\",\"predicted\":\""
         << (integer_metadata("predicted") ? "1" : "0") << "\"},\"traceEvents\":[";
    names();
    for (const Event& event : trace_.events) this->event(event);
    arrows();
    memory();
    out_ << "\n]}\n";
  }

 private:
  bool integer_metadata(const std::string& key) const {
    const auto found = trace_.metadata.find(key);
    return found != trace_.metadata.end() && found->second == "1";
  }

  std::int32_t rank_of(const Event& event) const {
    return trace_.lanes[static_cast<std::size_t>(event.lane)].rank;
  }

  // Opens the next object: {"ph":"X","pid":..,"tid":..,"ts":..
  TextOutput& object(const char* phase, std::int32_t rank, std::int32_t lane,
                     std::int64_t time_ns) {
    out_ << (is_first_ ? "\n" : ",\n") << "{\"ph\":\"" << phase << "\",\"pid\":" << rank
         << ",\"tid\":" << lane << ",\"ts\":";
    is_first_ = false;
    return out_.microseconds(time_ns);
  }

  void names() {
    std::map<std::int32_t, bool> ranks;
    for (std::size_t i = 0; i < trace_.lanes.size(); ++i) {
      const Lane& lane = trace_.lanes[i];
      const auto id = static_cast<std::int32_t>(i);
      if (ranks.try_emplace(lane.rank, true).second) {
        object("M", lane.rank, id, 0)
            << ",\"name\":\"process_name\",\"args\":{\"name\":\"rank " << lane.rank << "\"}}";
        object("M", lane.rank, id, 0)
            << ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":" << lane.rank << "}}";
      }
      object("M", lane.rank, id, 0) << ",\"name\":\"thread_name\",\"args\":{\"name\":";
      out_.json(trace_.strings[lane.name]) << "}}";
      object("M", lane.rank, id, 0)
          << ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" << id << "}}";
    }
  }

  void event(const Event& e) {
    object("X", rank_of(e), e.lane, e.start_ns) << ",\"dur\":";
    out_.microseconds(e.end_ns - e.start_ns) << ",\"cat\":\"" << name(e.kind) << "\",\"name\":";
    out_.json(trace_.strings[e.name])
        << ",\"args\":{\"step\":" << e.step << ",\"micro_step\":" << std::int32_t{e.micro_step};
    text("phase", e.phase);
    text("unit", e.unit);
    text("stable_key", e.stable_key);
    text("cost_key", e.cost_key);
    if (e.instruction != kNone) out_ << ",\"instruction\":" << e.instruction;
    if (e.bytes != 0) out_ << ",\"bytes\":" << e.bytes;
    if (e.correlation != 0) out_ << ",\"correlation\":" << e.correlation;
    if (e.cpu_ns >= 0) out_ << ",\"cpu_ns\":" << e.cpu_ns;
    out_ << "}}";
  }

  void text(const char* key, StringId id) {
    if (id == 0) return;
    out_ << ",\"" << key << "\":";
    out_.json(trace_.strings[id]);
  }

  // From what the host issued to what the device did, matched by rank, step and instruction.
  void arrows() {
    using Cause = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
    std::vector<std::pair<Cause, const Event*>> effects;
    for (const Event& e : trace_.events) {
      if (is_device_work(e.kind) && e.instruction != kNone) {
        effects.push_back({{rank_of(e), e.step, e.instruction}, &e});
      }
    }
    std::sort(effects.begin(), effects.end());
    std::int64_t id = 0;
    for (const Event& e : trace_.events) {
      if (e.kind != EventKind::host || e.instruction == kNone) continue;
      const Cause cause{rank_of(e), e.step, e.instruction};
      auto effect = std::lower_bound(effects.begin(), effects.end(),
                                     std::pair<Cause, const Event*>(cause, nullptr));
      for (; effect != effects.end() && effect->first == cause; ++effect) {
        const Event& d = *effect->second;
        object("s", rank_of(e), e.lane, e.start_ns)
            << ",\"id\":" << ++id << ",\"cat\":\"issue\",\"name\":\"issue\"}";
        object("f", rank_of(d), d.lane, d.start_ns)
            << ",\"id\":" << id << ",\"bp\":\"e\",\"cat\":\"issue\",\"name\":\"issue\"}";
      }
    }
  }

  void memory() {
    struct Level {
      std::int64_t allocated = 0, reserved = 0, host = 0;
    };
    std::map<std::int32_t, Level> levels;
    for (const MemoryEvent& e : trace_.memory) {
      Level& level = levels[e.rank];
      switch (e.action) {
        case MemoryAction::alloc: (e.on_host ? level.host : level.allocated) += e.bytes; break;
        case MemoryAction::free_requested:
          (e.on_host ? level.host : level.allocated) -= e.bytes;
          break;
        case MemoryAction::segment_alloc: level.reserved += e.bytes; break;
        case MemoryAction::segment_free: level.reserved -= e.bytes; break;
        default: continue;
      }
      object("C", e.rank, 0, e.time_ns);
      if (e.on_host) {
        out_ << ",\"name\":\"host memory\",\"args\":{\"bytes\":" << level.host << "}}";
      } else {
        out_ << ",\"name\":\"device memory\",\"args\":{\"allocated\":" << level.allocated
             << ",\"reserved\":" << level.reserved << "}}";
      }
    }
  }

  const Trace& trace_;
  TextOutput out_;
  bool is_first_ = true;
};

}  // namespace

void write_chrome(const Trace& trace, std::ostream& out) {
  ChromeWriter(trace, out).write();
}

Result<void> export_chrome(const Trace& trace, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  if (!out) return fail(path, "", "cannot be created; expected a path to write to");
  write_chrome(trace, out);
  out.close();
  if (!out) return fail(path, "", "could not be written to the end; expected room for it");
  return {};
}

}  // namespace foreshard::traces
