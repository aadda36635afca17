#include <algorithm>
#include <vector>

#include "traces/import.hpp"
#include "traces/metadata.hpp"
#include "traces/nsys/context.hpp"
#include "traces/nsys/description.hpp"
#include "traces/nsys/tables.hpp"

namespace foreshard::traces {
namespace {

// Rows of tables with times in them that Foreshard makes nothing of.
void count_the_rest(nsys::Import& in) {
  for (const std::string& table : in.source.tables()) {
    if (in.read.contains(table)) continue;
    if (!in.source.has(table, "start") && !in.source.has(table, "timestamp")) continue;
    std::int64_t rows = 0;
    in.source.each(table, {}, [&](const nsys::Source::Row&) { ++rows; });
    in.builder.drop("rows of unsupported table " + table, rows);
  }
}

}  // namespace

Trace nsys::read_export(Source& source, const std::string& name) {
  Trace trace;
  StringTable names(source, trace.strings);
  Builder builder(trace);
  Import in{source, names, builder, {}};
  read_device_tables(in);
  read_host_tables(in);
  read_synchronization(in);
  read_nvtx(in);
  name_threads(in);
  const std::int64_t first = builder.finish();
  assign_context(trace);

  RunDescription run;
  run.ranks = std::max(1, static_cast<int>(builder.ranks().size()));
  run.more = describe(in, name, first);
  trace.metadata = run_metadata(run);
  count_the_rest(in);
  builder.drop("names missing from the file", names.unknown());
  builder.drop("overlong names", names.too_long());

  for (const auto& [table, stretches] : source.damage()) {
    builder.drop("unreadable parts (damaged file) of " + table, stretches);
  }
  if (source.is_cut_short()) builder.drop("end of the file (truncated)");
  trace.complete = source.damage().empty() && !source.is_cut_short();
  for (const Event& e : trace.events) {
    trace.complete_until_ns = std::max(trace.complete_until_ns, e.end_ns);
  }
  // What is reported outside of all that was recorded is told of the whole, not of a moment.
  std::erase_if(trace.losses, [&](const Loss& loss) {
    return loss.start_ns < 0 || loss.start_ns >= trace.complete_until_ns;
  });
  std::sort(trace.losses.begin(), trace.losses.end(),
            [](const Loss& a, const Loss& b) { return a.start_ns < b.start_ns; });
  if (!trace.complete) trace.complete_until_ns = 0;  // rows are in no order: any may be missing
  trace.metadata["complete"] = trace.complete ? "1" : "0";
  trace.metadata["complete_until_ns"] = std::to_string(trace.complete_until_ns);
  return trace;
}

Result<Trace> import_nsys(const std::string& path, const ImportOptions& options) {
  auto source = nsys::Source::open(path, options.stop);
  if (options.stop.stop_requested()) return reading_stopped(path);
  if (!source) return tl::unexpected(source.error());
  if (options.on_progress) source->report_to(options.on_progress);
  Trace trace = nsys::read_export(*source, path);
  if (options.stop.stop_requested()) return reading_stopped(path);
  return trace;
}

}  // namespace foreshard::traces
