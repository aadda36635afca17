// Any bytes as a PyTorch profiler recording: an error, or a trace that keeps its laws.
#include <cstdint>
#include <string>

#include "tests/fuzz/trace_laws.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/kineto/recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = foreshard::fuzz;
  namespace kineto = foreshard::traces::kineto;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto bytes = foreshard::traces::inflated(foreshard::traces::bytes_in_memory(input));
  const auto recordings = kineto::read_recordings(*bytes, "rank1.json", {});
  if (recordings) {
    fuzz::require(!recordings->empty());
    for (const kineto::Recording& recording : *recordings) {
      fuzz::require_trace_laws(recording.trace);
    }
  } else {
    fuzz::require(recordings.error().text().find("rank1.json") != std::string::npos);
  }
  return 0;
}
