#include "simulator/search/prices.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "models/base/csv.hpp"
#include "models/base/text_file.hpp"
#include "models/base/units.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard::simulator {
namespace {

std::int64_t instances_for(std::int64_t gpus, std::int64_t nodes, const Instance& instance) {
  if (gpus % nodes != 0) return ceil_divide(gpus, instance.gpus);
  return nodes * ceil_divide(gpus / nodes, instance.gpus);
}

// By prices of the kind or, where there are none, by those of the first kind that there are.
Rent cheapest(const std::vector<const Instance*>& instances, int gpus, int nodes, PriceKind kind) {
  Rent best;
  for (const Instance* const instance : instances) {
    for (const Price& price : instance->prices) {
      const std::int64_t count = instances_for(gpus, nodes, *instance);
      const Rent rent{price.usd_per_hour * static_cast<double>(count),
                      instance->id,
                      count,
                      std::string(word(price.kind)),
                      price.region,
                      price.date,
                      price.source};
      const auto rank = [&](const Rent& of) {
        const bool is_of_kind = of.kind == word(kind);
        const auto place = std::find(kPriceKinds.begin(), kPriceKinds.end(), of.kind);
        return std::tuple(!is_of_kind, place, of.usd_per_hour);
      };
      if (best.kind.empty() || rank(rent) < rank(best)) best = rent;
    }
  }
  return best;
}

}  // namespace

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

Rent rent_of(const Machine& machine, int gpus, int nodes, PriceKind kind, const Prices& prices) {
  const Instance* const own = instance_of(machine);
  if (const auto price = prices.find(machine.id); price != prices.end()) {
    Rent rent{price->second * gpus, "", 0, "", "", "", "--prices"};
    if (own == nullptr) return rent;
    rent.instance = own->id;
    rent.instances = instances_for(gpus, nodes, *own);
    rent.usd_per_hour = price->second * static_cast<double>(rent.instances * own->gpus);
    return rent;
  }
  if (own != nullptr) return cheapest({own}, gpus, nodes, kind);
  std::vector<const Instance*> with_the_part;
  for (const Instance& instance : rented_instances()) {
    const bool holds_a_node = instance.reach * nodes >= gpus;
    if (instance.part == machine.id && holds_a_node && (nodes == 1 || instance.has_network)) {
      with_the_part.push_back(&instance);
    }
  }
  return cheapest(with_the_part, gpus, nodes, kind);
}

}  // namespace foreshard::simulator
