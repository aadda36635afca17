#include "traces/open/read_trace.hpp"

#include <new>
#include <utility>

#include "traces/export/chrome_import.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/open/recording_kind.hpp"

namespace foreshard::traces {
namespace {

constexpr const char* kExpected =
    "a trace (.fst), a PyTorch profiler recording (JSON, or a folder of them), an Nsight Systems "
    "export (SQLite) or a CUDA memory snapshot";

Result<Trace> one_run(const std::string& path, const ImportOptions& options) {
  auto runs = import_kineto({path}, options);
  if (!runs) return tl::unexpected(runs.error());
  if (runs->size() == 1) return std::move(runs->front());
  return fail(path, "",
              "contains " + std::to_string(runs->size()) +
                  " runs; expected one; `foreshard import kineto` writes a trace for each");
}

}  // namespace

Result<Trace> read_trace(const std::string& path, const ImportOptions& options) {
  const auto kind = recording_kind(path, kExpected);
  if (!kind) return tl::unexpected(kind.error());
  try {
    switch (*kind) {
      case RecordingKind::fst: return read_fst(path);
      case RecordingKind::perfetto_export: return read_chrome(path);
      case RecordingKind::kineto: return one_run(path, options);
      case RecordingKind::nsys: return import_nsys(path, options);
      case RecordingKind::snapshot: return import_snapshot(path, options);
      default: return wrong_kind(path, *kind, kExpected);
    }
  } catch (const std::bad_alloc&) {
    return fail(path, "", "does not fit into memory; expected a smaller recording");
  }
}

}  // namespace foreshard::traces
