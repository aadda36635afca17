#include "profiler/injection/activity_tables.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "profiler/record/cupti/device_allocations.hpp"
#include "profiler/record/cupti/kernel_name.hpp"
#include "traces/import.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/meaning/annotations.hpp"
#include "traces/metadata.hpp"
#include "traces/nsys/export_tables.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_difference;
using traces::bounded_sum;
using traces::nsys::ExportedCall;
using traces::nsys::ExportedWork;
using traces::nsys::ExportTables;

constexpr int kOfDevice = 3;  // CUpti_ActivityMemoryKind
// Flags of CUPTI's markers.
constexpr std::uint32_t kInstantaneous = 1, kBegins = 2, kEnds = 4;

// Puts the activities of one process after the other into tables.
class Tabulation {
 public:
  explicit Tabulation(ExportTables& tables) : tables_(tables) {}

  void add(std::int64_t number, const RawActivities& raw) {
    tables_.begin_process(number);
    open_.clear();
    for (const Activity& a : raw.activities) add(a);
    add_memory(raw);
    for (const auto& [id, begin] : open_) {
      // What comes after the last step is none.
      if (text(begin.name).starts_with(traces::kMarkedStep)) continue;
      add_range(begin, ExportTables::kOpen);
    }
  }

 private:
  static std::string_view text(const char* name) { return name == nullptr ? "" : name; }
  static ExportedCall call_of(const Activity& a) {
    return {a.start_ns, a.end_ns, a.thread, a.correlation, text(a.name)};
  }
  static ExportedWork work_of(const Activity& a) {
    return {a.start_ns, a.end_ns, a.device, a.context, a.stream, a.correlation, a.bytes};
  }

  void add(const Activity& a);
  void add_marker(const Activity& a);
  void add_memory(const RawActivities& raw);
  void add_range(const Activity& begin, std::int64_t end_ns) {
    ExportedCall range = call_of(begin);
    range.end_ns = end_ns;
    tables_.add_range(range, text(begin.domain));
  }

  const std::string& kernel_name(const Activity& kernel) {
    const auto [found, is_new] = kernels_.try_emplace(std::string(text(kernel.name)));
    if (is_new) found->second = demangled(found->first.c_str());
    return found->second;
  }

  ExportTables& tables_;
  std::map<std::string, std::string> kernels_;  // mangled -> as spelt
  std::map<std::uint64_t, Activity> open_;      // ranges that have begun, by number
};

// What had not finished when CUPTI was made to hand it over has no times.
bool has_finished(const Activity& a) {
  return a.start_ns > 0 && a.end_ns >= a.start_ns;
}

void Tabulation::add(const Activity& a) {
  const auto kind = static_cast<int>(a.detail);
  switch (a.kind) {
    case ActivityKind::kernel:
      if (has_finished(a)) tables_.add_kernel(work_of(a), kernel_name(a));
      return;
    case ActivityKind::copy:
      if (has_finished(a)) tables_.add_copy(work_of(a), kind, a.from_memory, a.to_memory);
      return;
    case ActivityKind::fill:
      if (has_finished(a)) tables_.add_fill(work_of(a), a.to_memory);
      return;
    case ActivityKind::runtime_call:
      return tables_.add_call(call_of(a), ExportTables::Api::runtime);
    case ActivityKind::driver_call: return tables_.add_call(call_of(a), ExportTables::Api::driver);
    case ActivityKind::synchronization:
      return tables_.add_wait(work_of(a), kind, static_cast<std::int64_t>(a.id));
    case ActivityKind::marker: return add_marker(a);
    default: return;
  }
}

// CUPTI hands over records in no order.
void Tabulation::add_memory(const RawActivities& raw) {
  std::vector<Activity> memory;
  for (const Activity& a : raw.activities) {
    if (a.kind == ActivityKind::allocation || a.kind == ActivityKind::memory_pool) {
      memory.push_back(a);
    }
  }
  std::ranges::stable_sort(memory, {}, &Activity::start_ns);
  DeviceAllocations allocations;
  for (const Activity& a : memory) {
    const auto change = allocations.take(a);
    if (!change) continue;
    ExportedWork moment = work_of(a);
    moment.bytes = std::abs(change->bytes);
    tables_.add_allocation(moment, static_cast<std::int64_t>(change->address),
                           change->is_of_pool ? kOfDevice : a.to_memory, change->bytes < 0);
  }
}

void Tabulation::add_marker(const Activity& a) {
  if ((a.detail & kInstantaneous) != 0) {
    tables_.add_mark(call_of(a), text(a.domain));
  } else if ((a.detail & kBegins) != 0) {
    open_[a.id] = a;
  } else if (const auto begin = open_.find(a.id); (a.detail & kEnds) != 0 && begin != open_.end()) {
    add_range(begin->second, a.end_ns);
    open_.erase(begin);
  }
}

std::int64_t number_in(const RawActivities& raw, const char* key) {
  const auto found = raw.header.find(key);
  return found == raw.header.end() ? 0 : std::atoll(found->second.c_str());
}

std::string text_in(const RawActivities& raw, const char* key) {
  const auto found = raw.header.find(key);
  return found == raw.header.end() ? "" : found->second;
}

std::int64_t last_end(const RawActivities& raw) {
  std::int64_t last = 0;
  for (const Activity& a : raw.activities) last = std::max(last, a.end_ns);
  return last;
}

// What the tables have no place for. `first_ns`: the moment that times of the trace count from.
void complete(traces::Trace& trace, const std::vector<RawActivities>& processes,
              std::int64_t first_ns) {
  const auto since_first = [&](std::int64_t at) {
    return std::max<std::int64_t>(bounded_difference(at, first_ns), 0);
  };
  std::int64_t overhead = 0;
  for (const RawActivities& raw : processes) {
    for (const auto& [at, records] : raw.dropped) {
      trace.dropped["records that found no room in CUPTI's buffers"] += records;
      const std::int64_t moment = since_first(at);
      trace.dropped_ranges.push_back({traces::kNone, false, moment, moment, records});
    }
    for (const Activity& a : raw.activities) {
      if (a.kind != ActivityKind::overhead) continue;
      overhead = bounded_sum(overhead,
                             std::max<std::int64_t>(bounded_difference(a.end_ns, a.start_ns), 0));
    }
    if (raw.is_complete) continue;
    trace.complete_until_ns = std::min(trace.complete_until_ns, since_first(last_end(raw)));
    trace.complete = false;
  }
  std::ranges::sort(trace.dropped_ranges, {}, &traces::DroppedRange::start_ns);
  trace.metadata["source"] = "cupti";
  trace.metadata["clock"] = "CLOCK_MONOTONIC";
  trace.metadata["cupti_overhead_ns"] = std::to_string(overhead);
  trace.metadata["complete"] = trace.complete ? "1" : "0";
  trace.metadata["complete_until_ns"] = std::to_string(trace.complete_until_ns);
  trace.metadata.erase("files");
}

}  // namespace

Result<traces::Trace> trace_of_activities(const std::vector<RawActivities>& processes,
                                          const std::string& scratch) {
  ExportTables tables(scratch);
  Tabulation tabulation(tables);
  for (std::size_t n = 0; n < processes.size(); ++n) {
    tabulation.add(static_cast<std::int64_t>(n), processes[n]);
  }
  std::int64_t utc = 0;
  if (!processes.empty()) {
    utc = number_in(processes[0], "utc_of_clock_ns");
    tables.describe(utc, text_in(processes[0], "host"));
  }
  std::error_code ignored;
  if (!tables.close()) {
    std::filesystem::remove(scratch, ignored);
    return fail(scratch, "", "cannot be written; expected room for what was recorded");
  }
  auto trace = traces::import_nsys(scratch);
  std::filesystem::remove(scratch, ignored);
  if (!trace) return trace;
  const std::int64_t start = traces::integer(trace->metadata, "start_utc_ns", utc);
  complete(*trace, processes, bounded_difference(start, utc));
  return trace;
}

}  // namespace foreshard::profiler
