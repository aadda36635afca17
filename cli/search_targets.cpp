#include "cli/search_targets.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "cli/gpus.hpp"
#include "models/base/figures.hpp"
#include "models/question/asked.hpp"
#include "simulator/costs/check_costs.hpp"

namespace foreshard::cli {
namespace {

using simulator::SearchTarget;

constexpr const char* kFewGpus = "8";

// "8,16,64", each number once.
Result<std::vector<int>> numbers_in(const std::string& list, const char* option, const char* what) {
  std::vector<int> numbers;
  for (const std::string& part : parts_of(list)) {
    int number = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_number = read.ec == std::errc() && read.ptr == part.data() + part.size();
    if (!is_number || number < 1 || number > kMostAskedRanks) {
      return fail(
          "", option,
          "has '" + part + "'; expected numbers of " + what + " with commas, such as 8,16,64");
    }
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
      numbers.push_back(number);
  }
  return numbers;
}

std::string rent_text(const simulator::Rent& rent) {
  return rent.instance + ", " + rent.kind + (rent.region.empty() ? "" : " " + rent.region) + ", " +
         rent.date;
}

}  // namespace

Result<void> SearchTargets::load(const std::optional<simulator::CostTable>& costs,
                                 const std::string& costs_file) {
  if (auto ok = load_machines(costs, costs_file); !ok) return ok;
  return load_prices();
}

Result<void> SearchTargets::load_machines(const std::optional<simulator::CostTable>& costs,
                                          const std::string& costs_file) {
  std::string names = machine_names_;
  if (names.empty() && costs && costs->rates) names = costs->rates->machine;
  if (names.empty()) return {};
  std::set<std::string> loaded;
  for (const std::string& name : parts_of(names)) {
    if (name.empty()) {
      return fail("", "--machines", "has ''; expected names with commas, such as h100-sxm,h200");
    }
    if (!loaded.insert(name).second) continue;
    auto machine = load_machine(name);
    if (!machine) return tl::unexpected(machine.error());
    const bool is_there =
        std::any_of(machines_.begin(), machines_.end(),
                    [&](const Machine& other) { return other.id == machine->id; });
    if (is_there) {
      return fail("", "--machines",
                  "has two machines named " + machine->id + "; expected a name for each");
    }
    if (costs) {
      if (auto ok = check_costs_are_of(*machine, *costs, costs_file); !ok) return ok;
    }
    machines_.push_back(std::move(*machine));
    machine_ids_.push_back(name);
  }
  return {};
}

Result<void> SearchTargets::load_prices() {
  if (prices_file_.empty()) return {};
  auto prices = simulator::load_prices(prices_file_);
  if (!prices) return tl::unexpected(prices.error());
  prices_ = std::move(*prices);
  for (const auto& [name, price] : prices_) {
    const bool is_there =
        std::any_of(machines_.begin(), machines_.end(),
                    [&id = name](const Machine& machine) { return machine.id == id; });
    if (!is_there && !load_machine(name)) {
      return fail(prices_file_, "machine",
                  "'" + name +
                      "' is no machine of this search or of the catalogue; expected a "
                      "name that `foreshard list machines` prints, or one of --machines");
    }
  }
  return {};
}

PriceKind SearchTargets::price_kind() const {
  const auto found = std::find(kPriceKinds.begin(), kPriceKinds.end(), price_kind_);
  return static_cast<PriceKind>(found - kPriceKinds.begin());
}

// Without numbers of GPUs, nodes are whole ones of the machine.
std::vector<SearchTargets::Size> SearchTargets::sizes_on(const Machine* machine,
                                                         const std::vector<int>& gpus,
                                                         const std::vector<int>& nodes,
                                                         std::string& why_not) const {
  std::vector<Size> sizes;
  if (nodes.empty()) {
    for (const int size : gpus) sizes.push_back({size, {}});
    return sizes;
  }
  const std::int64_t most = machine == nullptr ? kMostAskedRanks : machine->gpus_per_node;
  for (const int count : nodes) {
    if (gpus_.empty() && machine != nullptr) {
      if (count * most <= kMostAskedRanks) sizes.push_back({static_cast<int>(count * most), count});
      continue;
    }
    for (const int size : gpus) {
      const std::string spread = std::to_string(size) + " GPUs ";
      if (size % count != 0) {
        why_not = spread + "cannot be spread evenly over " + std::to_string(count) + " nodes";
      } else if (size / count > most) {
        why_not = spread + "on " + std::to_string(count) + " nodes are more than " +
                  std::to_string(most) + " on a node of " + machine->id;
      } else {
        sizes.push_back({size, count});
      }
    }
  }
  return sizes;
}

Result<std::vector<SearchTarget>> SearchTargets::targets(const Question& base,
                                                         bool may_be_ours) const {
  const auto gpus = numbers_in(gpus_.empty() ? kFewGpus : gpus_, "--gpus", "GPUs");
  if (!gpus) return tl::unexpected(gpus.error());
  auto nodes = nodes_.empty() ? std::vector<int>{} : numbers_in(nodes_, "--nodes", "nodes");
  if (!nodes) return tl::unexpected(nodes.error());
  std::vector<SearchTarget> found;
  std::string why_not = "no machine has so many GPUs";
  if (machines_.empty()) {
    for (const Size& size : sizes_on(nullptr, *gpus, *nodes, why_not)) {
      found.push_back({nullptr, size.gpus, size.nodes.value_or(0)});
    }
  }
  for (std::size_t m = 0; m < machines_.size(); ++m) {
    const Machine& machine = machines_[m];
    for (const Size& size : sizes_on(&machine, *gpus, *nodes, why_not)) {
      Question asked = base;
      asked.ranks = size.gpus;
      asked.nodes = 0;
      asked.machine = machine;
      SearchTarget target{&machine, size.gpus, size.nodes.value_or(filled_nodes(asked))};
      target.rent =
          simulator::rent_of(machine, target.gpus, node_count(target), price_kind(), prices_);
      target.machine_id = machine_ids_[m];
      if (may_be_ours && !is_tpu(machine)) {
        const auto device = own_device("cuda", {}, machine);
        if (!device) return tl::unexpected(device.error());
        target.own_device = *device;
      }
      found.push_back(std::move(target));
    }
  }
  if (found.empty())
    return fail("", "--nodes", why_not + "; expected a number of nodes that holds them");
  return found;
}

std::vector<std::string> SearchTargets::warnings(const std::vector<SearchTarget>& targets,
                                                 bool needs_prices) const {
  std::vector<std::string> warnings;
  const auto add = [&](const std::string& warning) {
    const bool is_new = std::find(warnings.begin(), warnings.end(), warning) == warnings.end();
    if (is_new && !warning.empty()) warnings.push_back(warning);
  };
  for (const SearchTarget& target : targets) {
    if (target.machine == nullptr) continue;
    const Machine& machine = *target.machine;
    const simulator::Rent& rent = target.rent;
    add(missing_network(machine, node_count(target)));
    if (rent.usd_per_hour <= 0) {
      if (needs_prices || !prices_file_.empty())
        add("no price of " + machine.id + " is known; its plans have no cost");
    } else if (rent.kind.empty()) {
      continue;
    } else if (!prices_file_.empty()) {
      add(prices_file_ + " has no price of " + machine.id + "; the catalogue's counts (" +
          rent_text(rent) + ")");
    } else if (rent.kind != price_kind_) {
      add("no " + price_kind_ + " price of " + machine.id +
          " is known; one of another kind counts (" + rent_text(rent) + ")");
    }
  }
  return warnings;
}

void SearchTargets::add_to(Options& options) {
  options.text(
      "--machines", machine_names_,
      {"MACHINES",
       "machines to choose from, with commas: names that `foreshard list machines` prints, "
       "or FILE.csv:ID",
       false, "that of the costs, or this one"});
  options.text("--gpus", gpus_,
               {"GPUS", "numbers of GPUs to choose from, with commas", false,
                "8, or with --nodes whole nodes of each machine"});
  options.text("--nodes", nodes_,
               {"NODES", "numbers of nodes that the GPUs are spread over evenly, with commas",
                false, "the fewest that hold them, filled one after another"});
  options.input(
      "--prices", prices_file_,
      {"PRICES", "CSV file with the columns machine and usd_per_hour, the price of one GPU's hour",
       false, "the catalogue's"});
  options.choice("--price-kind", price_kind_, {kPriceKinds.begin(), kPriceKinds.end()},
                 {"KIND",
                  "which of the catalogue's prices count; where a machine has none of them, one of "
                  "another kind does, with a warning"});
}

}  // namespace foreshard::cli
