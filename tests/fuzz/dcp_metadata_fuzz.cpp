// Any bytes either are refused as the metadata of a distributed checkpoint or are written and read back the same.
#include <cstdlib>

#include "executor/data/dcp_metadata.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::executor;
  const auto metadata = parse_dcp_metadata(std::as_bytes(std::span(data, size)), "fuzzed");
  if (!metadata) {
    if (metadata.error().file != "fuzzed") std::abort();
    return 0;
  }
  const auto pickle = to_pickle(*metadata);
  const auto again = parse_dcp_metadata(std::as_bytes(std::span(pickle)), "written");
  if (!again || to_pickle(*again) != pickle) std::abort();
  return 0;
}
