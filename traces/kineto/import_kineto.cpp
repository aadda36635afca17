#include <algorithm>
#include <filesystem>
#include <new>

#include "models/base/input_file.hpp"
#include "traces/import.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/kineto/recording.hpp"
#include "traces/kineto/runs.hpp"

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

Result<kineto::Recording> read_file(const std::string& file, const ImportOptions& options,
                                    FilesRead& progress) {
  try {
    auto bytes = open_bytes(file, kExpected, progress.counter());
    if (!bytes) return tl::unexpected(bytes.error());
    return kineto::read_recording(**bytes, file, options);
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
  for (const std::string& file : *files) {
    auto recording = read_file(file, options, progress);
    if (options.stop.stop_requested()) return reading_stopped(folder);
    if (recording) {
      recordings.push_back(std::move(*recording));
    } else if (first.message.empty()) {
      first = recording.error();
    }
  }
  if (recordings.size() == before) return tl::unexpected(first);
  if (!first.message.empty()) {
    const std::size_t others = files->size() - (recordings.size() - before);
    recordings.back().trace.dropped["files that are not recordings"] =
        static_cast<std::int64_t>(others);
  }
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
    auto recording = read_file(path, options, progress);
    if (!recording) return tl::unexpected(recording.error());
    recordings.push_back(std::move(*recording));
  }
  if (recordings.empty()) return fail("", "", "no file was given; expected one or more recordings");
  std::vector<Trace> traces;
  try {
    for (const auto& run : kineto::group_by_run(recordings)) {
      if (options.stop.stop_requested()) return reading_stopped(paths.front());
      traces.push_back(kineto::merge_ranks(recordings, run));
    }
  } catch (const std::bad_alloc&) {
    return fail(paths.front(), "", "does not fit into memory; expected fewer events");
  }
  return traces;
}

}  // namespace foreshard::traces
