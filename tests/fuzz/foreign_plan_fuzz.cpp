// Any bytes as a plan or another tool's configuration: an error, or a plan that reads back as it was
// written and can be reported.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/plan/foreign/foreign_plans.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto converted = foreshard::parse_any_plan(text, "configuration");
  if (!converted) return 0;
  const auto again = foreshard::parse_plan(foreshard::to_toml(converted->plan), "plan.toml");
  if (!again || !(*again == converted->plan)) std::abort();
  if (foreshard::conversion_report(*converted).empty()) std::abort();
  return 0;
}
