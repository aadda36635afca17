// Any bytes as a memory snapshot: an error, or a trace whose memory can be told and histories that
// can be replayed.
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "profiler/analysis/analysis.hpp"
#include "profiler/replay/history_comparison.hpp"
#include "profiler/replay/memory_holders.hpp"
#include "traces/allocator/allocator_replay.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/history_snapshot.hpp"
#include "traces/snapshot/snapshot.hpp"
#include "traces/snapshot/snapshot_writer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace traces = foreshard::traces;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto snapshot = traces::parse_snapshot(bytes, "input.pickle");
  if (!snapshot) {
    if (snapshot.error().text().find("input.pickle") == std::string::npos) std::abort();
    return 0;
  }
  std::ostringstream written;
  write_snapshot(*snapshot, written);
  if (!traces::parse_snapshot(written.view(), "written.pickle")) std::abort();
  const auto trace = traces::import_snapshot(*snapshot, "input.pickle", {});
  foreshard::profiler::analyse(trace);  // its JSON, of any trace, is fst_fuzz's
  for (const int device : traces::recorded_devices(*snapshot)) {
    const auto found = traces::history_of(*snapshot, device);
    const auto contents = foreshard::profiler::memory_holders(trace, device);
    if (contents.allocated < 0) std::abort();
    traces::ReplayOptions options;
    if (found.history.capacity) options.capacity = *found.history.capacity;
    // A history made from a snapshot can always be replayed, whatever contradicts itself in it.
    if (!traces::replay(found.history, options)) std::abort();
    const auto labelled = traces::labelled_history_of(*snapshot, device);
    if (!foreshard::profiler::compare_histories(labelled, labelled).is_identical()) std::abort();
    const auto freed = foreshard::profiler::with_unsharded_freed(found.history, trace, device);
    if (!traces::replay(freed, options)) std::abort();
  }
  return 0;
}
