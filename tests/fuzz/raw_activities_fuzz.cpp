// Any bytes as what a profiled process has written: an error, or activities whose names can be read.
#include <cstdlib>
#include <cstring>

#include "profiler/injection/raw_activities.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::profiler;
  const auto raw = parse_raw_activities({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!raw) {
    if (raw.error().file != "fuzzed") std::abort();
    return 0;
  }
  std::size_t characters = 0;
  for (const Activity& activity : raw->activities) {
    if (activity.kind >= ActivityKind::kCount) std::abort();
    for (const char* const text : {activity.name, activity.domain}) {
      if (text != nullptr) characters += std::strlen(text);
    }
  }
  if (raw->texts.empty() && characters > 0) std::abort();
  return 0;
}
