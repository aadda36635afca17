#include "traces/export/csv_export.hpp"

#include <filesystem>
#include <optional>
#include <system_error>

#include "models/base/atomic_file.hpp"
#include "traces/export/text_output.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::traces {

void write_events_csv(const Trace& trace, std::ostream& stream) {
  TextOutput out(stream);
  out << "rank,lane,device,step,micro_step,kind,name,phase,unit,start_ns,end_ns,cpu_ns,bytes,"
         "instruction,stable_key,cost_key,correlation,cost_source,cost_error,process_group,"
         "sequence\n";
  for (const Event& e : trace.events) {
    const Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
    out << lane.rank << ",";
    out.csv(trace.strings[lane.name]) << "," << (lane.device ? "1" : "0") << "," << e.step << ","
                                      << std::int32_t{e.micro_step} << "," << name(e.kind) << ",";
    out.csv(trace.strings[e.name]) << ",";
    out.csv(trace.strings[e.phase]) << ",";
    out.csv(trace.strings[e.unit]) << "," << e.start_ns << "," << e.end_ns << ",";
    if (e.cpu_ns >= 0) out << e.cpu_ns;
    out << "," << e.bytes << ",";
    if (e.instruction != kNone) out << e.instruction;
    out << ",";
    out.csv(trace.strings[e.stable_key]) << ",";
    out.csv(trace.strings[e.cost_key]) << ",";
    if (e.correlation != 0) out << e.correlation;
    out << "," << name(e.cost_source) << ",";
    if (e.cost_error > 0) out << e.cost_error;
    out << ",";
    out.csv(trace.strings[e.group]) << ",";
    if (e.sequence > 0) out << e.sequence;
    out << "\n";
  }
}

void write_memory_csv(const Trace& trace, std::ostream& stream) {
  TextOutput out(stream);
  out << "rank,time_ns,action,on_host,step,address,bytes,requested_bytes,pool,category,owner,phase,"
         "instruction,stack\n";
  for (const MemoryEvent& e : trace.memory) {
    out << e.rank << "," << e.time_ns << "," << name(e.action) << "," << (e.on_host ? "1" : "0")
        << "," << e.step << "," << e.address << "," << e.bytes << "," << e.requested << ",";
    if (e.lane != kNone) {
      out.csv(trace.strings[trace.lanes[static_cast<std::size_t>(e.lane)].name]);
    }
    out << ",";
    out.csv(trace.strings[e.category]) << ",";
    out.csv(trace.strings[e.owner]) << ",";
    out.csv(trace.strings[e.phase]) << ",";
    if (e.instruction != kNone) out << e.instruction;
    out << ",";
    out.csv(trace.strings[e.stack]) << "\n";
  }
}

void write_memory_timeline_csv(const Trace& trace, std::ostream& stream) {
  TextOutput out(stream);
  out << "rank,time_ns,allocated_bytes,reserved_bytes,host_bytes\n";
  std::optional<std::int32_t> rank;
  MemoryTally replay;
  for (auto at = trace.memory.begin(); at != trace.memory.end(); ++at) {
    const MemoryEvent e = *at;
    if (e.rank != rank) replay = {};
    rank = e.rank;
    const MemoryLevels before = replay.levels();
    replay.apply(at);
    const MemoryLevels& now = replay.levels();
    if (now == before) continue;
    out << e.rank << "," << e.time_ns << "," << now.allocated << "," << now.reserved << ","
        << now.host << "\n";
  }
}

void write_steps_csv(const Trace& trace, std::ostream& stream) {
  TextOutput out(stream);
  out << "rank,step,start_ns,end_ns,loss,gradient_norm,label\n";
  for (const Step& s : trace.steps) {
    out << s.rank << "," << s.step << "," << s.start_ns << "," << s.end_ns << "," << s.loss << ","
        << s.gradient_norm << ",";
    out.csv(trace.strings[s.label]) << "\n";
  }
}

void write_counters_csv(const Trace& trace, std::ostream& stream) {
  TextOutput out(stream);
  out << "rank,counter,unit,time_ns,value\n";
  for (const Counter& counter : trace.counters) {
    for (const CounterSample& sample : counter.samples) {
      out << counter.rank << ",";
      out.csv(trace.strings[counter.name]) << ",";
      out.csv(trace.strings[counter.unit]) << "," << sample.time_ns << "," << sample.value << "\n";
    }
  }
}

void write_metadata_csv(const Trace& trace, std::ostream& stream) {
  TextOutput out(stream);
  out << "key,value\n";
  for (const auto& [key, value] : trace.metadata) {
    out.csv(key) << ",";
    out.csv(value) << "\n";
  }
  for (const auto& [reason, records] : trace.dropped) {
    out.csv("dropped: " + reason) << "," << records << "\n";
  }
}

Result<void> export_csv(const Trace& trace, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(folder, "", "cannot be created (" + error.message() + "); expected a folder");
  }
  const auto write = [&](const char* file, auto&& table) -> Result<void> {
    return write_atomically((std::filesystem::path(folder) / file).string(),
                            [&](std::ostream& out) { table(trace, out); });
  };
  if (auto written = write("events.csv", write_events_csv); !written) return written;
  if (auto written = write("memory.csv", write_memory_csv); !written) return written;
  if (auto written = write("memory_timeline.csv", write_memory_timeline_csv); !written) {
    return written;
  }
  if (auto written = write("steps.csv", write_steps_csv); !written) return written;
  if (auto written = write("counters.csv", write_counters_csv); !written) return written;
  return write("metadata.csv", write_metadata_csv);
}

}  // namespace foreshard::traces
