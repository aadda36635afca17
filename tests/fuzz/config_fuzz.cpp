// Any bytes as a config.json: an error or a config that reads back as it was written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/llama/llama_config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = foreshard::parse_llama_config(text, "config.json");
  if (!config) return 0;
  const auto again = foreshard::parse_llama_config(foreshard::to_json(*config), "config.json");
  if (!again || !(*again == *config) || config->parameters() <= 0) std::abort();
  return 0;
}
