#include "traces/open/read_trace.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "traces/export/chrome_import.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/snapshot/history_trace.hpp"

namespace foreshard::traces {
namespace {

Result<std::vector<Trace>> one(Result<Trace> trace) {
  if (!trace) return tl::unexpected(trace.error());
  std::vector<Trace> runs;
  runs.push_back(std::move(*trace));
  return runs;
}

Result<std::vector<Trace>> read_all(const std::string& path, const ImportOptions& options,
                                    const AcceptedKinds& accepted) {
  const auto kind = recording_kind(path, accepted.expected);
  if (!kind) return tl::unexpected(kind.error());
  if (std::find(accepted.kinds.begin(), accepted.kinds.end(), *kind) == accepted.kinds.end()) {
    return wrong_kind(path, *kind, accepted.expected);
  }
  if (options.steps && *kind != RecordingKind::fst) {
    return fail(path, "", "cannot be read in part; expected a trace (.fst) with steps");
  }
  try {
    switch (*kind) {
      case RecordingKind::fst: return one(read_fst(path, options));
      case RecordingKind::perfetto_export: return one(read_chrome(path, options));
      case RecordingKind::kineto: return import_kineto({path}, options);
      case RecordingKind::nsys: return one(import_nsys(path, options));
      case RecordingKind::snapshot: return one(import_snapshot(path, options));
      case RecordingKind::event_list: return one(import_event_list(path, options));
      default: return wrong_kind(path, *kind, accepted.expected);
    }
  } catch (const std::bad_alloc&) {
    return fail(path, "", "does not fit into memory; expected a smaller recording");
  }
}

}  // namespace

const AcceptedKinds& every_trace() {
  static const AcceptedKinds every{
      {RecordingKind::fst, RecordingKind::perfetto_export, RecordingKind::kineto,
       RecordingKind::nsys, RecordingKind::snapshot},
      "a trace (.fst), a PyTorch profiler recording (JSON, or a folder of them), an Nsight Systems "
      "export (SQLite) or a CUDA memory snapshot (or a folder of them)"};
  return every;
}

const AcceptedKinds& every_recording() {
  static const AcceptedKinds every = [] {
    AcceptedKinds kinds = every_trace();
    kinds.kinds.push_back(RecordingKind::event_list);
    kinds.expected =
        "a trace (.fst), a PyTorch profiler recording (JSON, or a folder of them), an Nsight "
        "Systems export (SQLite), a CUDA memory snapshot or an allocation history (JSON lines)";
    return kinds;
  }();
  return every;
}

Result<Trace> read_trace(const std::string& path, const ImportOptions& options,
                         const AcceptedKinds& accepted) {
  auto runs = read_all(path, options, accepted);
  if (!runs) return tl::unexpected(runs.error());
  if (runs->size() == 1) return std::move(runs->front());
  return fail(path, "",
              "contains " + std::to_string(runs->size()) +
                  " runs; expected one; `foreshard import kineto` writes a trace for each");
}

Result<std::vector<RecordedRun>> read_runs(const std::string& path, const ImportOptions& options,
                                           const AcceptedKinds& accepted) {
  std::vector<std::string> places = folders_of_recordings(path);
  if (places.empty()) places.push_back(path);
  std::vector<RecordedRun> all;
  for (const std::string& place : places) {
    auto runs = read_all(place, options, accepted);
    if (!runs) return tl::unexpected(runs.error());
    const std::size_t count = runs->size();
    for (std::size_t n = 0; n < count; ++n) {
      const std::string which =
          count == 1 ? "" : ", run " + std::to_string(n + 1) + " of " + std::to_string(count);
      all.push_back({place + which, std::move((*runs)[n])});
    }
  }
  return all;
}

}  // namespace foreshard::traces
