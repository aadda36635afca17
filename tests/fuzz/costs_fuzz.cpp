// Cost files: whatever the bytes, an answer or an error, and what was read is written and read alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/cost_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::simulator;
  const auto table = parse_cost_table({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!table) return 0;
  const std::string text = to_json(*table);
  const auto again = parse_cost_table(text, "again");
  if (!again || to_json(*again) != text) std::abort();
  const auto costs = table_costs(*table, 2);
  for (const ThreadCountCosts& regime : table->regimes) {
    for (const auto& [key, cost] : regime.measured) {
      if (!(costs->estimate(key, {}).ns >= 0)) std::abort();
    }
  }
  return 0;
}
