#include "models/hardware/instances.hpp"

#include <algorithm>

#include "models/base/csv.hpp"
#include "models/base/figures.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard {
namespace {

// Of a row with the price columns: "on-demand us-east-1" is a kind and a region.
Price price_in(const CsvTable& table, const CsvRow& row) {
  Price price;
  const std::string text(table.at(row, "price_kind"));
  for (std::size_t k = 0; k < kPriceKinds.size(); ++k) {
    const std::string_view kind = kPriceKinds[k];
    std::string first = text.substr(0, kind.size());
    std::replace(first.begin(), first.end(), ' ', '-');
    if (first != kind) continue;
    price.kind = static_cast<PriceKind>(k);
    price.region = text.substr(std::min(text.size(), kind.size() + 1));
  }
  price.usd_per_hour = csv_number(table.at(row, "usd_per_h")).value_or(0);
  price.date = table.at(row, "price_date");
  price.source = table.at(row, "sources");
  return price;
}

std::vector<Instance> catalogued() {
  const CsvTable table = parse_csv(instances_csv(), "instances.csv").value();
  const CsvTable others = parse_csv(prices_csv(), "prices.csv").value();
  std::vector<Instance> all;
  for (const CsvRow& row : table.rows) {
    const auto count = [&](std::string_view column) {
      return static_cast<std::int64_t>(csv_number(table.at(row, column)).value_or(0));
    };
    Instance instance;
    instance.id = table.at(row, "id");
    instance.part = table.at(row, "machine");
    instance.gpus = count("gpus");
    instance.reach = std::max(instance.gpus, count("gpus_per_node"));
    instance.has_network = !table.at(row, "nic").empty() || count("nic_gbps") > 0;
    if (const Price price = price_in(table, row); price.usd_per_hour > 0) {
      instance.prices.push_back(price);
    }
    for (const CsvRow& other : others.rows) {
      if (others.at(other, "instance") == instance.id) {
        instance.prices.push_back(price_in(others, other));
      }
    }
    all.push_back(std::move(instance));
  }
  return all;
}

}  // namespace

const std::vector<Instance>& rented_instances() {
  static const std::vector<Instance> all = catalogued();
  return all;
}

const Instance* instance_of(const Machine& machine) {
  const auto& all = rented_instances();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Instance& instance) { return instance.id == machine.id; });
  return found == all.end() ? nullptr : &*found;
}

std::string missing_network(const Machine& machine, std::int64_t nodes) {
  if (nodes <= 1) return "";
  const Instance* const instance = instance_of(machine);
  if (instance == nullptr || instance->has_network) return "";
  return machine.id + " is rented without an interconnect: no network is known that joins " +
         std::to_string(nodes) +
         formatted(" of them, and the times are those of %.3g GB/s a GPU",
                   machine.network_bandwidth / 1e9);
}

}  // namespace foreshard
