// One event of a recording as it stands in the file: text of what every event has, and of `args` what
// the importer uses. Views live as long as the reader's window does.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace foreshard::traces::kineto {

struct RawEvent {
  static constexpr std::int64_t kAbsent = INT64_MIN;
  std::string_view phase, category, name;
  std::string_view process, thread;      // numbers or words
  std::string_view timestamp, duration;  // numbers; empty where there is none
  bool is_event = false;                 // it has a phase
  std::int64_t flow = kAbsent;           // number of a flow event

  // of `args`; absent numbers are kAbsent, absent text is empty
  std::int64_t correlation = kAbsent, external_id = kAbsent;
  std::int64_t device = kAbsent, stream = kAbsent;
  std::int64_t bytes = kAbsent;
  std::int64_t address = kAbsent, total_allocated = kAbsent, total_reserved = kAbsent;
  std::int64_t device_type = kAbsent, device_id = kAbsent;
  std::int64_t in_elements = kAbsent, out_elements = kAbsent, group_size = kAbsent;
  std::int64_t sequence = kAbsent;
  std::string_view collective, element_type;
  std::string_view group_name, group_ranks;
  std::string_view input_dims, input_types, input_strides, concrete_inputs;  // JSON
  std::string_view label;  // args.name of metadata
  // Names and values of what may be a counter: its phase is "C", or stands behind `args`.
  std::vector<std::pair<std::string_view, std::string_view>> series;
};

}  // namespace foreshard::traces::kineto
