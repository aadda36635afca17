#include "traces/open/recording_kind.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <vector>

#include "models/base/input_file.hpp"
#include "traces/export/chrome_import.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/sniff_file_type.hpp"
#include "traces/snapshot/rank_files.hpp"
#include "traces/sqlite/untrusted_database.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kLooked = 4096;

bool holds_any(std::string_view text, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
    return text.find(key) != std::string_view::npos;
  });
}

RecordingKind kind_of_json(std::string_view text) {
  if (holds_any(text, {"\"traceEvents\"", "\"schemaVersion\""})) return RecordingKind::kineto;
  if (holds_any(text, {"\"initial_segments\"", "\"settings\"", "\"streams\""}))
    return RecordingKind::event_list;
  if (holds_any(text, {"\"foreshard-costs\"", "\"hidden_size\"", "|execution_trace|"})) return RecordingKind::other;
  return RecordingKind::kineto;  // what marks it may come later
}

// Whether a database is a trace of ours by its header, without opening it.
bool has_our_application_id(std::string_view header) {
  constexpr std::size_t kPlace = 68;
  if (header.size() < kPlace + sizeof kApplicationId) return false;
  std::uint32_t id = 0;
  for (const char c : header.substr(kPlace, sizeof kApplicationId)) {
    id = id << 8 | static_cast<unsigned char>(c);
  }
  return id == static_cast<std::uint32_t>(kApplicationId);
}

RecordingKind kind_of_database(const std::string& path, std::string_view header) {
  if (has_our_application_id(header)) return RecordingKind::fst;
  const auto file = UntrustedDatabase::open(path, "a trace", UntrustedDatabase::CutShort::read);
  // Its reader reports what is wrong with a damaged one.
  if (!file || file->tables().empty() || file->has("EVENT_FACTS")) return RecordingKind::fst;
  return RecordingKind::nsys;
}

bool may_hold_recordings(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json") || name.ends_with(".gz")) return true;
  }
  return false;
}

bool has_recordings(const std::string& folder) {
  const auto files = files_in_folder(folder, "");
  return files && std::any_of(files->begin(), files->end(), [](const std::string& file) {
           return sniff_file(file).find("PyTorch's profiler") != std::string::npos;
         });
}

std::string what_folder_is(const std::string& folder) {
  constexpr std::size_t kNamed = 3;
  if (has_recordings(folder)) return "is a folder of recordings of PyTorch's profiler";
  const std::vector<std::string> of_recordings = folders_of_recordings(folder);
  if (of_recordings.empty()) return "is a folder";
  const std::size_t named = std::min(kNamed, of_recordings.size());
  std::string text = "is a folder of folders with recordings of PyTorch's profiler (";
  for (std::size_t i = 0; i < named; ++i) {
    text += (i == 0 ? "" : ", ") + std::filesystem::path(of_recordings[i]).filename().string();
  }
  const std::size_t more = of_recordings.size() - named;
  return text + (more > 0 ? " and " + std::to_string(more) + " more)" : ")");
}

}  // namespace

std::vector<std::string> folders_of_recordings(const std::string& path) {
  std::vector<std::string> folders;
  if (may_hold_recordings(path)) return folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    std::error_code ignored;
    if (entry.is_directory(ignored) && has_recordings(entry.path().string())) {
      folders.push_back(entry.path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<RecordingKind> recording_kind(const std::string& path, const std::string& expected) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (may_hold_recordings(path)) return RecordingKind::kineto;
    return rank_files(path) ? RecordingKind::snapshot : RecordingKind::other;
  }
  const auto first = first_bytes(path, kLooked, expected);
  if (!first) return tl::unexpected(first.error());
  if (is_foreshard_export(path)) return RecordingKind::perfetto_export;
  if (first->starts_with("SQLite format 3")) return kind_of_database(path, *first);
  if (begins_as_pickle(*first)) return RecordingKind::snapshot;
  const std::size_t text = first->find_first_not_of(" \t\r\n");
  const bool is_json = text != std::string::npos && begins_as_json(*first);
  if (is_json) return kind_of_json(*first);
  const bool is_report = path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
  return is_report ? RecordingKind::nsys : RecordingKind::other;
}

tl::unexpected<Error> wrong_kind(const std::string& path, RecordingKind kind,
                                 const std::string& expected) {
  std::error_code ignored;
  std::string what = kind == RecordingKind::nsys ? "is an Nsight Systems export (SQLite)" : "";
  if (std::filesystem::is_directory(path, ignored)) what = what_folder_is(path);
  if (what.empty()) what = sniff_file(path);
  return fail(path, "", what + "; expected " + expected);
}

}  // namespace foreshard::traces
