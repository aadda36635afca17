// A file's recordings, each as a trace of one rank, with the data that identifies its run.
//
// A file has one, unless a tool has merged those of several processes. Such tools label the processes
// and devices of each, "[TP01] 4242" and "[TP01] 0", and leave the numbers of launches as they are: what
// has different labels is unrelated, and is of different ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "traces/import.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

// Ranks are recorded in the same step, but clocks of different machines may differ.
constexpr std::int64_t kMaxApart = 60'000'000'000;

struct Recording {
  std::string file;
  Trace trace;  // times are absolute, lanes have no rank yet; the metadata is that of the file
  std::int64_t start_ns = 0, end_ns = 0;  // of its events; equal where there are none
  std::optional<std::int32_t> rank;       // from the file or its name
  std::int32_t world_size = 0;            // 0: unknown
  std::string host, device;               // empty where unknown
  std::optional<std::int64_t> process;    // from the file's name
  std::int64_t cost_keys_mapped = 0, cost_keys_unmapped = 0;
  std::int64_t unrelated_collectives = 0;  // ranges of a backend's own threads
  std::int64_t mended = 0;                 // events whose text had to be mended
  std::string incomplete_reason;           // why the trace is not complete, empty where it is
};

// At least one; those of a merged file by their labels, without a rank.
Result<std::vector<Recording>> read_recordings(ByteSource& bytes, const std::string& file,
                                               const ImportOptions& options);

}  // namespace foreshard::traces::kineto
