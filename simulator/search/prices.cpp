#include "simulator/search/prices.hpp"

#include "models/base/csv.hpp"
#include "models/base/text_file.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard::simulator {

Result<Prices> parse_prices(std::string_view csv, const std::string& file) {
  const auto table = parse_csv(csv, file);
  if (!table) return tl::unexpected(table.error());
  for (const char* column : {"machine", "usd_per_hour"}) {
    if (table->column(column)) continue;
    return fail(file, column, "is not a column; expected the columns machine and usd_per_hour");
  }
  Prices prices;
  for (const CsvRow& row : table->rows) {
    const std::string machine(table->at(row, "machine"));
    const std::string_view text = table->at(row, "usd_per_hour");
    const auto price = csv_number(text);
    if (!price || *price <= 0) {
      return fail(file + ":" + std::to_string(row.line), "usd_per_hour",
                  "is '" + std::string(text) +
                      "'; expected the price of a GPU's hour in US dollars, a number above 0");
    }
    if (!prices.emplace(machine, *price).second) {
      return fail(file + ":" + std::to_string(row.line), "machine",
                  "'" + machine + "' has a price already; expected one of each machine");
    }
  }
  return prices;
}

Result<Prices> load_prices(const std::string& path) {
  const auto text = read_text_file(path, "prices in CSV", kMiB);
  if (!text) return tl::unexpected(text.error());
  return parse_prices(*text, path);
}

Price price_of(const Machine& machine, const Prices& prices) {
  if (const auto own = prices.find(machine.id); own != prices.end())
    return {own->second, "--prices"};
  const auto catalogued = [](const Machine& of) {
    return Price{of.usd_per_hour, of.id + ", " + of.price_kind + ", " + of.price_date};
  };
  if (machine.usd_per_hour > 0) return catalogued(machine);
  const Machine* cheapest = nullptr;
  for (const Machine& other : bundled_machines()) {
    const bool has_the_part = other.usd_per_hour > 0 && other.name == machine.name &&
                              other.gpus_per_node == machine.gpus_per_node;
    if (has_the_part && (cheapest == nullptr || other.usd_per_hour < cheapest->usd_per_hour)) {
      cheapest = &other;
    }
  }
  return cheapest == nullptr ? Price{} : catalogued(*cheapest);
}

}  // namespace foreshard::simulator
