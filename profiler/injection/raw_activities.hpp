// The file that a profiled process leaves: activities as they came, so that writing costs little and a
// process that is killed loses only what CUPTI had not handed over. A header of lines "name=value" ends
// with an empty line; blocks follow, each of whole records or texts, and the last one says that the
// process has ended as it should.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/base/error.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"

namespace foreshard::profiler {

// Writes one file. Errors of the disk are remembered by what is missing: a file without an end.
class RawActivityWriter final : public ActivityListener {
 public:
  RawActivityWriter(const std::string& path, const std::map<std::string, std::string>& header);
  ~RawActivityWriter() override;
  RawActivityWriter(const RawActivityWriter&) = delete;
  RawActivityWriter& operator=(const RawActivityWriter&) = delete;

  bool is_open() const { return file_ >= 0; }
  void take(std::span<const Activity> activities) override;
  void dropped(std::int64_t records) override;
  void finish();  // after the last record

 private:
  std::uint32_t number_of(const char* text);
  void write_block(std::uint32_t type, std::string_view bytes);

  int file_ = -1;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::string new_texts_, records_;
  std::int64_t last_end_ns_ = 0;
};

// What a process did. Names of activities point into `texts`.
struct RawActivities {
  std::map<std::string, std::string> header;
  std::vector<std::string> texts;
  std::vector<Activity> activities;
  std::vector<std::pair<std::int64_t, std::int64_t>>
      dropped;  // moment of the report, and number of records
  bool is_complete = false;
};

// Reads a file, whole or cut short at any byte. The error names a file of another kind.
Result<RawActivities> read_raw_activities(const std::string& path);
// The same of its bytes; `path` is for the error.
Result<RawActivities> parse_raw_activities(std::string_view bytes, const std::string& path);

}  // namespace foreshard::profiler
