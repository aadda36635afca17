// The kind of a recording, detected from its content; file names are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::traces {

enum class RecordingKind : std::uint8_t {
  fst,              // a trace of ours
  perfetto_export,  // a trace of ours as `foreshard export --perfetto` writes it
  kineto,           // a file of PyTorch's profiler, or a folder of such files
  nsys,             // an SQLite export of Nsight Systems
  snapshot,         // a CUDA memory snapshot, or a folder of such files
  event_list,       // an allocator's history as JSON lines
  other,
};

// The folders with recordings in a folder that has none itself, by name: torchtitan writes one for each
// profiled iteration. None where `path` is no such folder.
std::vector<std::string> folders_of_recordings(const std::string& path);

// `expected` ends the message where the file cannot be read.
Result<RecordingKind> recording_kind(const std::string& path, const std::string& expected);

// An error that names the type of the file.
tl::unexpected<Error> wrong_kind(const std::string& path, RecordingKind kind,
                                 const std::string& expected);

}  // namespace foreshard::traces
