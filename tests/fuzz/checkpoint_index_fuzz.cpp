// Any bytes either are refused as a checkpoint's index or are written and read back the same.
#include <cstdlib>

#include "executor/data/checkpoint_index.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::executor;
  const auto index = parse_checkpoint_index(std::as_bytes(std::span(data, size)), "fuzzed");
  if (!index) return 0;
  const auto text = to_json(*index);
  const auto again = parse_checkpoint_index(std::as_bytes(std::span(text)), "written");
  if (!again || to_json(*again) != text) std::abort();
  return 0;
}
