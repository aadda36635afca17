// Any bytes as a hardware catalogue: an error or machines with memory and rates.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/hardware/hardware.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto machines = foreshard::parse_catalogue(text, "own.csv");
  if (!machines) return 0;
  for (const foreshard::Machine& machine : *machines) {
    if (machine.memory.count <= 0 || machine.fp32_flops <= 0) std::abort();
  }
  return 0;
}
