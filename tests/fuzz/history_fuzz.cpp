// Any bytes as an allocation history: an error, or a history that equals itself and is replayed or refused
// under the recorded and other settings.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/allocator/allocator_settings.hpp"
#include "profiler/replay/history_comparison.hpp"
#include "traces/allocator/allocator_replay.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace profiler = foreshard::profiler;
  namespace traces = foreshard::traces;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto labelled = traces::parse_labelled_history(text, "input.jsonl");
  if (!labelled) {
    if (labelled.error().text().find("input.jsonl") == std::string::npos) std::abort();
    return 0;
  }
  const auto comparison = profiler::compare_histories(*labelled, *labelled);
  if (!comparison.is_identical()) std::abort();
  profiler::to_json(comparison);
  const traces::AllocatorHistory* const history = &labelled->history;
  for (const char* settings : {"", "expandable_segments=true", "max_split_size_mb=21",
                               "garbage_collection_threshold=0.5,roundup_power2_divisions=4"}) {
    traces::ReplayOptions options;
    options.rules = *parse_allocator_settings(settings, history->rules, "");
    if (history->capacity) options.capacity = *history->capacity;
    const auto result = traces::replay(*history, options);
    if (result && result->statistics.allocated < 0) std::abort();
  }
  return 0;
}
