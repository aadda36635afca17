// foreshard collective: the time of one collective.
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "models/base/figures.hpp"
#include "models/base/units.hpp"
#include "models/hardware/device_names.hpp"
#include "models/program/bus_bandwidth.hpp"
#include "simulator/costs/check_costs.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/network/collective_time.hpp"

namespace foreshard::cli {
namespace {

using simulator::Algorithm;
using simulator::CollectiveNetwork;
using simulator::CollectiveTime;
using simulator::GroupPlace;

constexpr std::int64_t kMostRanks = 1'000'000;
constexpr double kMostNetwork = 1e6;  // GB/s

class Collective : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  struct Answer {
    CollectiveTime time;
    CostSource source = CostSource::modelled;
    std::string network;  // technology between the nodes; "": there is one node
  };

  Result<Machine> machine(const std::optional<simulator::CostTable>& costs) const;
  Result<GroupPlace> place(const Machine& machine) const;
  Result<std::optional<Algorithm>> forced(const CollectiveNetwork& network, Operator op,
                                          const GroupPlace& place) const;
  Result<Answer> answer() const;
  Result<void> write(const Answer& answer) const;

  std::string machine_, kind_, algorithm_, costs_;
  std::optional<std::int64_t> bytes_;
  int ranks_ = 0;
  std::optional<int> nodes_;
  double network_gb_s_ = 0;
  bool is_quiet_ = false;  // of every command that answers; this one has nothing to leave out
  JsonOutput json_;
};

// The one that was named, or that the recordings are of.
Result<Machine> Collective::machine(const std::optional<simulator::CostTable>& costs) const {
  if (!machine_.empty()) return load_machine(machine_);
  if (!costs) return fail("", "--machine", "is missing; expected it or --costs");
  if (auto recorded = machine_reported_as(costs->machine_name)) return *recorded;
  return fail(costs_, "machine.name",
              "is " + costs->machine_name +
                  ", which the catalogue does not have; expected --machine as well");
}

Result<GroupPlace> Collective::place(const Machine& machine) const {
  const auto together = machine.gpus_per_node;
  GroupPlace place{ranks_, nodes_.value_or(static_cast<int>(ceil_divide(ranks_, together)))};
  if (!nodes_) {  // as many on each as it holds, the rest on the last
    place.fewest_on_a_node = ranks_ - (place.nodes - 1) * together;
    return place;
  }
  const std::string asked =
      "--ranks " + std::to_string(ranks_) + " on --nodes " + std::to_string(*nodes_);
  if (ranks_ % *nodes_ != 0) {
    return fail("", "--nodes",
                asked +
                    " cannot be spread evenly; expected a number of nodes that divides the "
                    "ranks");
  }
  const std::int64_t on_a_node = ranks_ / *nodes_;
  const std::int64_t most = simulator::largest_node(machine);
  if (on_a_node > most) {
    return fail("", "--nodes",
                asked + " are " + std::to_string(on_a_node) + " ranks a node, but nodes of " +
                    machine.id + " have at most " + std::to_string(most) + "; expected at least " +
                    std::to_string(ceil_divide(ranks_, most)) + " nodes");
  }
  return place;
}

Result<std::optional<Algorithm>> Collective::forced(const CollectiveNetwork& network, Operator op,
                                                    const GroupPlace& place) const {
  const std::optional<Algorithm> wanted = simulator::algorithm_named(algorithm_);
  if (!wanted) return std::optional<Algorithm>();
  std::string there;
  for (const Algorithm algorithm : network.algorithms(op, place)) {
    if (algorithm == *wanted) return wanted;
    there += (there.empty() ? "" : ", ") + std::string(name_of(algorithm));
  }
  return fail("", "--algorithm",
              algorithm_ + " is not there for " + kind_ + " of " + plural(place.ranks, "rank") +
                  " on " + plural(place.nodes, "node") + "; expected one of: " + there);
}

Result<Collective::Answer> Collective::answer() const {
  std::optional<simulator::CostTable> costs;
  if (!costs_.empty()) {
    auto loaded = simulator::load_cost_table(costs_);
    if (!loaded) return tl::unexpected(loaded.error());
    if (!loaded->is_accelerator) {
      return fail(
          costs_, "machine.name",
          "is a processor (" + loaded->machine_name + "); expected costs of an accelerator");
    }
    costs = std::move(*loaded);
  }
  const auto machine = this->machine(costs);
  if (!machine) return tl::unexpected(machine.error());
  if (costs) {
    if (auto ok = check_costs_are_of(*machine, *costs, costs_); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  const Operator op = operator_named(kind_);
  if (op == Operator::transfer && ranks_ != 2) {
    return fail("", "--ranks", "is " + std::to_string(ranks_) + "; expected 2 of a transfer");
  }
  const auto place = this->place(*machine);
  if (!place) return tl::unexpected(place.error());
  const CollectiveNetwork network(*machine, network_gb_s_ * 1e9);
  const auto forced = this->forced(network, op, *place);
  if (!forced) return tl::unexpected(forced.error());

  Answer answer;
  answer.time = network.time(op, static_cast<double>(*bytes_), *place, *forced);
  if (place->nodes > 1) answer.network = network.network();
  if (!costs || *forced) return answer;
  const auto recorded =
      simulator::table_costs(std::move(*costs), ranks_, static_cast<int>(place->nodes), &*machine);
  for (const DType dtype : {DType::bf16, DType::fp32, DType::fp16}) {
    const auto found = recorded->estimate({op, dtype, dtype, dtype, {*bytes_, ranks_}},
                                          {false, place->nodes, place->fewest_on_a_node});
    if (found.source != CostSource::measured && found.source != CostSource::fitted) continue;
    answer.time.ns = found.ns;
    answer.source = found.source;
    break;
  }
  return answer;
}

Result<void> Collective::write(const Answer& answer) const {
  const auto& [time, source, network] = answer;
  const auto ns = std::llround(time.ns);
  const double bus = bus_gb_s(operator_named(kind_), static_cast<double>(*bytes_), ranks_,
                              static_cast<double>(ns));
  const std::string algorithm(name_of(time.choice.algorithm));
  const std::string protocol(name_of(time.choice.protocol));
  nlohmann::ordered_json json{{"time_ns", ns},
                              {"bus_gb_s", bus},
                              {"algorithm", algorithm},
                              {"protocol", protocol},
                              {"channels", time.choice.channels},
                              {"memory_bytes", std::llround(time.memory_bytes)},
                              {"source", name(source)},
                              {"network", nullptr}};
  if (!network.empty()) json["network"] = network;
  if (auto ok = json_.write(json); !ok || json_.is_standard_output()) return ok;
  return show(duration(ns) + ", " + to_fixed(bus, 1) + " GB/s of bus bandwidth (" +
              std::string(name(source)) + ")\n" + algorithm + ", " + protocol + ", " +
              plural(time.choice.channels, "channel") +
              (network.empty() ? "" : "; " + network + " between nodes") + "\n");
}

Result<int> Collective::run() {
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  const auto found = answer();
  if (!found) return tl::unexpected(found.error());
  return written(write(*found));
}

CommandText Collective::text() const {
  return {"collective",
          "Prediction",
          "predict the time of one collective",
          "The time is that of the collective alone on its GPUs, from a law fitted to published "
          "measurements of the machine's links and network, or from a cost file where its "
          "recordings have the collective. Bytes and bus bandwidth are those of nccl-tests: bytes "
          "count the whole gathered, scattered or reduced buffer. Algorithm, protocol and channels "
          "are those that NCCL chooses.",
          {"foreshard collective --machine h100-sxm --kind all_gather --bytes 416MiB --ranks 8",
           "foreshard collective --machine h200 --kind all_reduce --bytes 1GiB --ranks 32 --nodes "
           "4 --network 400 --algorithm ring --json -"}};
}

void Collective::add_to(Options& options) {
  options.machine(machine_, {"MACHINE",
                             "machine that `foreshard list machines` prints, or FILE.csv:ID for "
                             "one of your own",
                             false, "that of the recordings"});
  options.choice(
      "--kind", kind_,
      {"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "transfer"},
      {"KIND", "collective; a transfer is one rank's to another", true});
  options.size("--bytes", bytes_,
               {"SIZE",
                "size of the whole buffer, or of what one rank sends to all or to another, such as "
                "64MiB; an integer is bytes",
                true});
  options.whole_number("--ranks", ranks_, {2, kMostRanks}, {"RANKS", "ranks of the group", true});
  options.whole_number("--nodes", nodes_, {1, kMostRanks},
                       {"NODES",
                        "hosts that the ranks are spread over evenly; NVLink domains where those "
                        "span hosts",
                        false, "as many ranks per node as the machine holds"});
  options.number("--network", network_gb_s_, kMostNetwork,
                 {"GB_S",
                  "GB/s that all network cards of a node move one way; a machine of the catalogue "
                  "with that says their technology",
                  false, "that of the machine"});
  options.choice("--algorithm", algorithm_, {"ring", "tree", "nvls", "nvlstree", "pat"},
                 {"ALGORITHM", "algorithm, as NCCL_ALGO forces one", false, "NCCL's own choice"});
  options.input("--costs", costs_, {"COSTS", "cost file that `foreshard fit` wrote"});
  options.quiet(is_quiet_);
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_collective() {
  return std::make_unique<Collective>();
}

}  // namespace foreshard::cli
