// Reads a trace from any supported recording: a .fst file, the JSON that `foreshard export
// --perfetto` writes, a recording of PyTorch's profiler (a file or a folder with one of each rank), an
// Nsight Systems export, a CUDA memory snapshot or an allocation history. The content decides, not the name. Recordings of
// others are imported into memory, see import.hpp.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "traces/import.hpp"
#include "traces/open/recording_kind.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// The kinds of recordings that the caller has a use for; `expected` names them where one is of another.
struct AcceptedKinds {
  std::vector<RecordingKind> kinds;
  std::string expected;
};
// All that has events of a run.
const AcceptedKinds& every_trace();
// The same and allocation histories, which have memory alone.
const AcceptedKinds& every_recording();

// An error where a folder holds several runs, and where the file is of another type, which it names.
Result<Trace> read_trace(const std::string& path, const ImportOptions& options = {},
                         const AcceptedKinds& accepted = every_trace());

// A run by what contains it: a file or a folder and, where that has several, which of them.
struct RecordedRun {
  std::string name;
  Trace trace;
};

// Every run that is there: in a file, in a folder, and in the folders of one that has no recording itself.
Result<std::vector<RecordedRun>> read_runs(const std::string& path,
                                           const ImportOptions& options = {},
                                           const AcceptedKinds& accepted = every_trace());

}  // namespace foreshard::traces
