// Any bytes as an event list: an error, or a history that is replayed or refused under the recorded
// and other settings.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "traces/allocator_replay.hpp"
#include "traces/allocator_settings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace traces = foreshard::traces;
  static const std::string path = (std::filesystem::temp_directory_path() /
                                   ("history_fuzz." + std::to_string(::getpid()) + ".jsonl"))
                                      .string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto history = traces::read_allocator_history(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!history) return 0;
  for (const char* settings : {"", "expandable_segments=true", "max_split_size_mb=21",
                               "garbage_collection_threshold=0.5,roundup_power2_divisions=4"}) {
    traces::ReplayOptions options;
    options.rules = *traces::parse_allocator_settings(settings, history->rules, "");
    if (history->capacity) options.capacity = *history->capacity;
    const auto result = traces::replay(*history, options);
    if (result && result->statistics.allocated < 0) std::abort();
  }
  return 0;
}
