#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <new>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "models/base/figures.hpp"
#include "models/base/input_file.hpp"
#include "traces/import.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/kineto/cycles.hpp"
#include "traces/kineto/recording.hpp"
#include "traces/meaning/clock_alignment.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces::kineto {
namespace {

// Groups recordings into runs: ranks of one world that were recorded at the same time. A rank that
// occurs twice begins another run; files without a rank are numbered in order.

// Times before 2001 count from a machine's start: they cannot be compared.
constexpr std::int64_t kEarliestDate = 1'000'000'000'000'000'000;

struct Run {
  std::string file;  // of its first member
  std::vector<std::size_t> members;
  std::set<std::int32_t> ranks;
  std::int32_t world_size = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};

bool belongs(const Recording& recording, const Run& run, bool numbers_ranks) {
  const bool tell_ranks = recording.rank && !run.ranks.empty();
  if (!numbers_ranks && !tell_ranks && recording.file != run.file) return false;
  if (recording.rank && run.ranks.contains(*recording.rank)) return false;
  if (recording.world_size != 0 && run.world_size != 0) {
    if (recording.world_size != run.world_size) return false;
  }
  if (recording.start_ns < kEarliestDate || run.start_ns < kEarliestDate) return true;
  return recording.start_ns - kMaxApart <= run.end_ns &&
         run.start_ns - kMaxApart <= recording.end_ns;
}

void join_run(Run& run, const Recording& recording, std::size_t index) {
  if (run.members.empty()) {
    run.file = recording.file;
    run.start_ns = recording.start_ns;
    run.end_ns = recording.end_ns;
  }
  run.start_ns = std::min(run.start_ns, recording.start_ns);
  run.end_ns = std::max(run.end_ns, recording.end_ns);
  run.world_size = std::max(run.world_size, recording.world_size);
  run.members.push_back(index);
  if (recording.rank) run.ranks.insert(*recording.rank);
}

// Those without a rank get the free ones, in the order of the files.
void give_ranks(std::vector<Recording>& recordings, Run& run) {
  std::sort(run.members.begin(), run.members.end());
  std::int32_t next = 0;
  for (const std::size_t index : run.members) {
    if (recordings[index].rank) continue;
    while (run.ranks.contains(next)) ++next;
    recordings[index].rank = next;
    run.ranks.insert(next);
  }
  std::sort(run.members.begin(), run.members.end(), [&](std::size_t a, std::size_t b) {
    return *recordings[a].rank < *recordings[b].rank;
  });
}

// The recording's trace on the run's clock, with its rank.
Trace part_of(Recording& recording, std::int64_t origin_ns) {
  Trace part = std::move(recording.trace);
  recording.trace = {};
  const std::int32_t rank = *recording.rank;
  if (part.lanes.empty()) part.lanes.push_back({rank, false, part.strings.intern("host")});
  for (Lane& lane : part.lanes) lane.rank = rank;
  part.events.update_all([&](Event& event) {
    event.start_ns -= origin_ns;
    event.end_ns -= origin_ns;
  });
  part.memory.update_all([&](MemoryEvent& event) {
    event.time_ns -= origin_ns;
    event.rank = rank;
  });
  for (Step& step : part.steps) {
    step.start_ns -= origin_ns;
    step.end_ns -= origin_ns;
    step.rank = rank;
  }
  for (DroppedRange& range : part.dropped_ranges) {
    range.start_ns -= origin_ns;
    range.end_ns -= origin_ns;
    range.rank = rank;
  }
  for (Counter& counter : part.counters) {
    for (CounterSample& sample : counter.samples) sample.time_ns -= origin_ns;
    counter.rank = rank;
  }
  part.complete_until_ns -= part.complete_until_ns == 0 ? 0 : origin_ns;
  return part;
}

Metadata describe(const std::vector<Recording>& recordings, const std::vector<std::size_t>& run,
                  std::int64_t origin_ns) {
  RunDescription description;
  Metadata& more = description.more;
  std::string file;
  std::int64_t mapped = 0, unmapped = 0, unrelated = 0, mended = 0, is_complete = 1;
  for (const std::size_t index : run) {
    const Recording& recording = recordings[index];
    const std::string rank = std::to_string(*recording.rank);
    description.ranks = std::max({description.ranks, recording.world_size, *recording.rank + 1});
    if (recording.file != file) more["files"] += (file.empty() ? "" : "\n") + recording.file;
    file = recording.file;
    if (!recording.device.empty()) more["device." + rank] = recording.device;
    if (!recording.host.empty()) more["host." + rank] = recording.host;
    if (!recording.incomplete_reason.empty()) {
      more["trouble." + rank] = recording.incomplete_reason;
      is_complete = 0;
    }
    mapped += recording.cost_keys_mapped;
    unmapped += recording.cost_keys_unmapped;
    unrelated += recording.unrelated_collectives;
    mended += recording.mended;
  }
  more["source"] = "kineto";
  more["cost_keys_mapped"] = std::to_string(mapped);
  more["cost_keys_unmapped"] = std::to_string(unmapped);
  if (unrelated > 0) more["unrelated_collectives"] = std::to_string(unrelated);
  if (mended > 0) more["mended_events"] = std::to_string(mended);
  more["clock"] = "CLOCK_REALTIME";
  more["clock_id"] = "realtime";
  more["clock_origin_ns"] = std::to_string(origin_ns);
  // Values of this machine would not describe the run.
  more["cpu_model"] = more["cores"] = more["threads_per_rank"] = "";
  more["complete"] = std::to_string(is_complete);
  for (const auto& [key, value] : recordings[run.front()].trace.metadata)
    more["kineto." + key] = value;
  return run_metadata(description);
}

// Indices of each run's recordings by rank, which every recording has afterwards. Runs by time.
std::vector<std::vector<std::size_t>> group_by_run(std::vector<Recording>& recordings,
                                                   bool numbers_ranks) {
  std::vector<std::size_t> by_time(recordings.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) {
    return recordings[a].start_ns < recordings[b].start_ns;
  });
  std::vector<Run> runs;
  for (const std::size_t index : by_time) {
    const Recording& recording = recordings[index];
    auto its = std::find_if(runs.begin(), runs.end(),
                            [&](const Run& run) { return belongs(recording, run, numbers_ranks); });
    if (its == runs.end()) its = runs.insert(runs.end(), Run{});
    join_run(*its, recording, index);
  }
  std::vector<std::vector<std::size_t>> out;
  for (Run& run : runs) {
    give_ranks(recordings, run);
    out.push_back(std::move(run.members));
  }
  return out;
}

// One run's ranks as one trace; takes the recordings' traces.
Trace merge_ranks(std::vector<Recording>& recordings, const std::vector<std::size_t>& run) {
  std::int64_t origin_ns = INT64_MAX;
  for (const std::size_t index : run) {
    const Recording& recording = recordings[index];
    const bool is_empty = recording.trace.events.empty() && recording.trace.memory.empty();
    if (!is_empty) origin_ns = std::min(origin_ns, recording.start_ns);
  }
  if (origin_ns == INT64_MAX) origin_ns = 0;
  const Metadata metadata = describe(recordings, run, origin_ns);
  std::vector<Trace> parts;
  for (const std::size_t index : run) {
    parts.push_back(part_of(recordings[index], origin_ns));
    parts.back().metadata.clear();
  }
  Trace whole = merge(std::move(parts));
  whole.metadata = metadata;
  std::string moved;
  for (const auto& [rank, by] : align_clocks(whole)) {
    moved += (moved.empty() ? "rank " : ", rank ") + std::to_string(rank) + " by " +
             formatted("%+.2f ms", static_cast<double>(by) / 1e6);
  }
  if (!moved.empty()) whole.metadata["moved_clocks"] = moved;
  whole.metadata["complete_until_ns"] = std::to_string(whole.complete_until_ns);
  return whole;
}

}  // namespace
}  // namespace foreshard::traces::kineto

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected = "a PyTorch profiler recording";

bool may_be_recording(const fs::path& path) {
  const std::string name = path.filename().string();
  return !name.starts_with('.') && (name.ends_with(".json") || name.ends_with(".gz"));
}

Result<std::vector<std::string>> recordings_in(const std::string& folder) {
  auto files = files_in_folder(folder, kExpected);
  if (!files) return files;
  std::erase_if(*files, [](const fs::path& path) { return !may_be_recording(path); });
  if (files->empty()) {
    return fail(folder, "",
                "contains no .json or .json.gz file; expected PyTorch profiler recordings");
  }
  return files;
}

std::int64_t bytes_of(const std::string& file) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  return error ? 0 : static_cast<std::int64_t>(bytes);
}

// How much of all files has been read, for progress reports, and whether reading goes on.
class FilesRead {
 public:
  explicit FilesRead(const std::vector<std::string>& paths, const ImportOptions& options)
      : report_(options.on_progress), stop_(options.stop) {
    if (!report_) return;
    for (const std::string& path : paths) {
      std::error_code ignored;
      if (!fs::is_directory(path, ignored)) {
        total_ += bytes_of(path);
      } else if (const auto files = recordings_in(path)) {
        for (const std::string& file : *files) total_ += bytes_of(file);
      }
    }
  }
  // Outlives no call of it: each file's reading ends before the next one's begins.
  OnRead counter() {
    return [this](std::size_t bytes) {
      if (report_) report_(done_ += static_cast<std::int64_t>(bytes), total_);
      return !stop_.stop_requested();
    };
  }

 private:
  const ReportProgress& report_;
  const std::stop_token& stop_;
  std::int64_t done_ = 0, total_ = 0;
};

Result<std::vector<kineto::Recording>> read_file(const std::string& file,
                                                 const ImportOptions& options,
                                                 FilesRead& progress) {
  try {
    auto bytes = open_bytes(file, kExpected, progress.counter());
    if (!bytes) return tl::unexpected(bytes.error());
    return kineto::read_recordings(**bytes, file, options);
  } catch (const std::bad_alloc&) {
    return fail(file, "", "does not fit into memory; expected fewer events");
  }
}

// The recordings among a folder's files; other JSON may stand beside them.
Result<void> read_folder(const std::string& folder, const ImportOptions& options,
                         FilesRead& progress, std::vector<kineto::Recording>& recordings) {
  const auto files = recordings_in(folder);
  if (!files) return tl::unexpected(files.error());
  const std::size_t before = recordings.size();
  Error first;
  std::int64_t others = 0;
  for (const std::string& file : *files) {
    auto read = read_file(file, options, progress);
    if (options.stop.stop_requested()) return reading_stopped(folder);
    if (read) {
      std::ranges::move(*read, std::back_inserter(recordings));
    } else {
      ++others;
      if (first.message.empty()) first = read.error();
    }
  }
  if (recordings.size() == before) return tl::unexpected(first);
  if (others > 0) recordings.back().trace.dropped["files that are not recordings"] = others;
  return {};
}

}  // namespace

Result<std::vector<Trace>> import_kineto(const std::vector<std::string>& paths,
                                         const ImportOptions& options) {
  std::vector<kineto::Recording> recordings;
  FilesRead progress(paths, options);
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      if (auto read = read_folder(path, options, progress, recordings); !read) {
        return tl::unexpected(read.error());
      }
      continue;
    }
    auto read = read_file(path, options, progress);
    if (!read) return tl::unexpected(read.error());
    std::ranges::move(*read, std::back_inserter(recordings));
  }
  if (recordings.empty()) return fail("", "", "no file was given; expected one or more recordings");
  std::vector<Trace> traces;
  try {
    kineto::join_cycles(recordings);
    for (const auto& run : kineto::group_by_run(recordings, options.numbers_ranks)) {
      if (options.stop.stop_requested()) return reading_stopped(paths.front());
      traces.push_back(kineto::merge_ranks(recordings, run));
    }
  } catch (const std::bad_alloc&) {
    return fail(paths.front(), "", "does not fit into memory; expected fewer events");
  }
  return traces;
}

}  // namespace foreshard::traces
