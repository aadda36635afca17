// Any bytes either are refused as a safetensors file or all their tensors can be read.
#include <algorithm>
#include <cstdlib>

#include "executor/data/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::executor;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto contents = parse_safetensors(bytes, "fuzzed");
  if (!contents) {
    if (contents.error().message.empty()) std::abort();
    return 0;
  }
  float values[256];
  for (const auto& tensor : contents->tensors) {
    for (std::int64_t first = 0; first < tensor.elements; first += 256) {
      const auto count = std::min<std::int64_t>(256, tensor.elements - first);
      read_as_float(tensor, first, count, values);
    }
  }
  return 0;
}
