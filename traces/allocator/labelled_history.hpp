// An allocation history whose events carry labels: what the program was doing at each of them, as far
// as the recording or the prediction shows it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/allocator/allocator_history.hpp"
#include "traces/import_options.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// Texts are numbers of LabelledHistory::texts; 0 is none.
struct EventLabels {
  std::int64_t time_us = 0;
  std::int32_t step = kNone;  // 0: the set-up
  std::int32_t instruction = kNone;
  StringId phase = 0;
  StringId module = 0;    // path, "(root)" of the root
  StringId call = 0;      // function of FSDP
  StringId op = 0;        // operator the memory is for
  StringId node = 0;      // of autograd's graph
  StringId category = 0;  // what the memory holds
  StringId owner = 0;     // module or parameter and what the memory is to it

  bool operator==(const EventLabels&) const = default;
};

// Those that are texts, by their keys in allocation histories.
constexpr std::array<std::pair<const char*, StringId EventLabels::*>, 7> kTextLabels{
    {{"phase", &EventLabels::phase},
     {"module", &EventLabels::module},
     {"call", &EventLabels::call},
     {"op", &EventLabels::op},
     {"node", &EventLabels::node},
     {"category", &EventLabels::category},
     {"owner", &EventLabels::owner}}};

struct LabelledHistory {
  AllocatorHistory history;
  std::vector<EventLabels> labels;   // of each event
  std::vector<std::string> streams;  // names, in the order of history.streams
  std::vector<SegmentState> end;     // what is reserved after the last event, where it is known
  Strings texts;
};

// As read_allocator_history and parse_allocator_history.
Result<LabelledHistory> read_labelled_history(const std::filesystem::path& file,
                                              const ImportOptions& options = {});
Result<LabelledHistory> parse_labelled_history(std::string_view text, const std::string& file);

}  // namespace foreshard::traces
