// Plans that unmodified PyTorch trained, with its allocator's event logs: those of tests/golden, then those of
// tests/evidence. How they were made: tests/golden/fsdp_requests/README.md.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace foreshard {

struct RecordedCase {
  std::filesystem::path folder;  // holds plans/ and events/
  std::string id;
  std::filesystem::path config;
  int ranks = 1, rank = 0, steps = 1;

  std::filesystem::path log() const { return folder / "events" / (id + ".jsonl.gz"); }
  std::string plan() const;     // the plan file's text
  std::string version() const;  // "" where the folder is of no version of its own
};

void PrintTo(const RecordedCase& c, std::ostream* out);

// Those of these folders that have a log, of one runtime ("fsdp2"), or of all ("").
std::vector<RecordedCase> recorded_cases(const std::string& runtime);

// The lines of a log.
std::vector<nlohmann::json> log_lines(const std::filesystem::path& path);

// A test's name may not hold dots.
std::string test_name(const RecordedCase& c);

}  // namespace foreshard
