#include "traces/nsys/source.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace foreshard::traces::nsys {
namespace {

constexpr const char* kExpected = "an SQLite export of Nsight Systems (nsys export --type sqlite)";
// A row takes at least this many bytes of its page; more rows mean pages that are read twice.
constexpr std::int64_t kLeastBytesOfARow = 8;

bool is_of_the_tool(const std::string& table) {
  return table.starts_with("CUPTI_ACTIVITY_") || table == "NVTX_EVENTS" || table == "OSRT_API" ||
         table == "CUDA_GPU_MEMORY_USAGE_EVENTS" || table == "META_DATA_EXPORT" ||
         table == "EXPORT_META_DATA";
}

}  // namespace

std::set<std::string> Source::tables() const {
  std::set<std::string> names;
  for (const auto& [name, columns] : file_.tables()) names.insert(name);
  return names;
}

void Source::report_to(const ReportProgress& report) {
  report_ = &report;
  for (const auto& [table, columns] : file_.tables()) {
    Statement last = file_.select(table, {"rowid"}, " ORDER BY rowid DESC LIMIT 1");
    if (is_of_the_tool(table) && last.step() == SQLITE_ROW) {
      rows_there_ += std::clamp<std::int64_t>(last.integer(0), 0, bytes());
    }
  }
}

Result<Source> Source::open(const std::string& path, std::stop_token stop) {
  auto file = UntrustedDatabase::open(path, kExpected, UntrustedDatabase::CutShort::read, stop);
  std::error_code ignored;
  const bool is_report = path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
  if (!file && is_report && std::filesystem::is_regular_file(path, ignored)) {
    return fail(path, "",
                std::string("is a report in Nsight Systems' own format; expected ") + kExpected);
  }
  auto source = of(std::move(file), path);
  if (source) source->stop_ = std::move(stop);
  return source;
}

Result<Source> Source::open_in_memory(std::string_view bytes, const std::string& name) {
  return of(
      UntrustedDatabase::open_in_memory(bytes, name, kExpected, UntrustedDatabase::CutShort::read),
      name);
}

Result<Source> Source::of(Result<UntrustedDatabase> file, const std::string& name) {
  if (!file) return tl::unexpected(file.error());
  Source source;
  source.file_ = std::move(*file);
  source.rows_left_ = source.bytes() / kLeastBytesOfARow;
  if (!source.file_.is_schema_whole()) ++source.damage_["sqlite_schema"];
  if (source.has("EVENT_RECORDS") && source.has("EVENT_FACTS")) {
    return fail(name, "", std::string("is already a foreshard trace; expected ") + kExpected);
  }
  for (const auto& [table, columns] : source.file_.tables()) {
    if (is_of_the_tool(table)) return source;
  }
  return fail(name, "",
              std::string(source.file_.tables().empty()
                              ? "has no readable tables; expected "
                              : "is a database without Nsight Systems tables; expected ") +
                  kExpected);
}

}  // namespace foreshard::traces::nsys
