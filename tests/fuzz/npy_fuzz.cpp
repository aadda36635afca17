// Any bytes either are refused as a NumPy array of tokens or the array lies inside them.
#include <cstdlib>

#include "executor/data/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::executor;
  const auto array = parse_npy(std::as_bytes(std::span(data, size)), "fuzzed");
  if (!array) {
    if (array.error().message.empty()) std::abort();
    return 0;
  }
  if (array->length < 0 || array->data_offset > size) std::abort();
  const auto bytes =
      static_cast<std::size_t>(array->length) * static_cast<std::size_t>(item_size(array->type));
  if (bytes != size - array->data_offset) std::abort();
  return 0;
}
