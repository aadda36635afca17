#include "simulator/whatif/other_cluster.hpp"

#include <memory>
#include <string_view>

#include "models/base/figures.hpp"
#include "models/program/operators.hpp"
#include "simulator/costs/cost_model.hpp"
#include "traces/meaning/collectives.hpp"
#include "traces/metadata.hpp"
#include "traces/recorded_machine.hpp"

namespace foreshard::simulator {
namespace {

// What tells the kernels of attention apart, as the cost model has it, by a kernel's name: cuDNN's have
// "flash" in theirs too.
std::string_view attention_of(std::string_view kernel) {
  const auto has = [&](std::string_view word) {
    return kernel.find(word) != std::string_view::npos;
  };
  if (has("cudnn")) return "";
  if (has("flash")) return "flash";
  return has("fmha") || has("efficient") ? "efficient" : "";
}

// A machine with so many ranks in use, on as few nodes as hold them.
struct Cluster {
  Machine machine;
  std::int64_t ranks;
  std::unique_ptr<CostModel> costs = machine_costs(machine, static_cast<int>(ranks), 0);

  std::int64_t nodes_of(std::int64_t group) const {
    return std::max<std::int64_t>(1, (group + machine.gpus_per_node - 1) / machine.gpus_per_node);
  }
  double ns(const CostKey& key, std::string_view kernel) const {
    return costs->estimate(key, {false, 1, 0, attention_of(kernel)}).ns;
  }
  // Of these ranks; where the recording does not name them, of as few nodes as hold so many.
  double collective_ns(const CostKey& key, const std::vector<std::int32_t>& group) const {
    const std::int64_t nodes =
        group.empty() ? nodes_of(key.dims[1]) : traces::nodes_holding(group, machine.gpus_per_node);
    return costs->estimate(key, {false, nodes}).ns;
  }
};

class Comparison {
 public:
  Comparison(Cluster before, Cluster after)
      : before_(std::move(before)), after_(std::move(after)) {}

  // `ranks`: of a collective's group, where the recording names them.
  double factor(const WorkClass& work, const std::string& cost_key, std::string_view kernel,
                const std::vector<std::int32_t>& ranks) {
    CostKey key;
    const bool is_known = parse_cost_key(cost_key, key);
    if (is_known && is_collective(key.op)) return of_collective(key, ranks);
    if (work.kind == traces::EventKind::communication) {
      ++unknown_collectives_;
      return 1;
    }
    if (before_.machine.id == after_.machine.id) return 1;
    if (is_known) return after_.ns(key, kernel) / before_.ns(key, kernel);
    ++unknown_operators_;
    return before_.machine.memory_bandwidth / after_.machine.memory_bandwidth;
  }

  std::vector<std::string> assumptions() const {
    std::vector<std::string> said;
    if (before_.machine.id != after_.machine.id) {
      said.push_back("Work takes as much longer on " + after_.machine.name + " than on " +
                     before_.machine.name +
                     " as their data sheets make the cost model's estimates.");
      if (unknown_operators_ > 0) {
        said.push_back(plural(unknown_operators_, "kind") +
                       " of work without a known operator: as the bandwidth of the memory.");
      }
    }
    if (before_.ranks != after_.ranks) {
      said.push_back(
          formatted("Collectives of %lld ranks become ones of %lld on %s, of as many bytes; "
                    "every rank does the work it did, also in the optimizer.",
                    static_cast<long long>(before_.ranks), static_cast<long long>(after_.ranks),
                    plural(after_.nodes_of(after_.ranks), "node").c_str()));
    }
    if (unknown_collectives_ > 0) {
      said.push_back(plural(unknown_collectives_, "kind") +
                     " of collective without known bytes: as recorded.");
    }
    return said;
  }

 private:
  double of_collective(const CostKey& key, const std::vector<std::int32_t>& ranks) const {
    const double before = before_.collective_ns(key, ranks);
    if (before <= 0) return 1;
    if (key.dims[1] != before_.ranks) return after_.collective_ns(key, ranks) / before;
    CostKey other = key;
    other.dims[1] = after_.ranks;
    return after_.collective_ns(other, {}) / before;
  }

  Cluster before_, after_;
  std::int64_t unknown_operators_ = 0, unknown_collectives_ = 0;
};

}  // namespace

Result<ClusterFactors> cluster_factors(const OtherCluster& other, const RecordedRun& run,
                                       const traces::Trace& trace, const std::string& file) {
  const std::string option = other.machine ? "--machine" : "--ranks";
  const auto recorded = traces::recorded_machine(trace, trace.lanes[run.works.front().stream].rank);
  if (!recorded) {
    return fail(
        file, option,
        "the recording does not name a device of the catalogue to compare with; expected one "
        "of a machine that `foreshard list machines` prints");
  }
  const std::int64_t ranks =
      std::max<std::int64_t>(run.ranks, traces::integer(trace.metadata, "ranks", run.ranks));
  Comparison comparison({*recorded, ranks},
                        {other.machine.value_or(*recorded), other.ranks > 0 ? other.ranks : ranks});
  std::vector<std::vector<std::int32_t>> groups(run.classes.size());
  for (const RecordedWork& work : run.works) {
    auto& group = groups[work.activity - kOtherActivities];
    if (!group.empty() || run.class_of(work).kind != traces::EventKind::communication) continue;
    const traces::Event event = trace.events[work.event];
    group = traces::process_group(trace.strings[event.group]).ranks;
  }
  ClusterFactors result;
  result.factors.assign(kOtherActivities + run.classes.size(), 1.0);
  for (std::size_t c = 0; c < run.classes.size(); ++c) {
    const WorkClass& work = run.classes[c];
    result.factors[kOtherActivities + c] =
        comparison.factor(work, trace.strings[work.cost_key], trace.strings[work.name], groups[c]);
  }
  result.assumptions = comparison.assumptions();
  return result;
}

}  // namespace foreshard::simulator
