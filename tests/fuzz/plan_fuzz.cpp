// Any bytes as a plan file: an error or a plan that reads back as it was written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/plan/plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = foreshard::parse_plan(text, "plan.toml");
  if (!plan) return 0;
  const auto again = foreshard::parse_plan(foreshard::to_toml(*plan), "plan.toml");
  if (!again || !(*again == *plan)) std::abort();
  return 0;
}
