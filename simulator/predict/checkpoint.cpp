#include "simulator/predict/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/base/figures.hpp"
#include "models/hardware/host_links.hpp"
#include "models/sharding/places.hpp"
#include "simulator/costs/host_copies.hpp"
#include "simulator/network/collective_time.hpp"

namespace foreshard::simulator {
namespace {

// Bytes of an element in each tensor that a checkpoint has of a parameter.
std::vector<std::int64_t> element_bytes(const Plan& plan) {
  const std::int64_t parameter = item_size(plan.precision.storage);
  if (plan.optimizer.name == OptimizerName::sgd) {
    return std::vector<std::int64_t>(plan.optimizer.momentum > 0 ? 2 : 1, parameter);
  }
  // torch.optim's are of the parameters' type.
  const std::int64_t state =
      describes_pytorch(plan.operators) ? parameter : item_size(plan.precision.optimizer_state);
  return {parameter, state, state};
}

// Bytes of so many elements of a parameter in all of them: of one that is frozen there are no states.
std::int64_t bytes_of(const Job& job, ParameterId id, std::int64_t elements) {
  const std::vector<std::int64_t> each = element_bytes(job.plan);
  const bool trains = id == kNone || job.tree.parameters[static_cast<std::size_t>(id)].trains;
  return elements * (trains ? std::accumulate(each.begin(), each.end(), std::int64_t{0}) : each[0]);
}

// Of a unit's elements those that train.
std::int64_t trained_of(const Job& job, const Unit& unit) {
  std::int64_t sum = 0;
  for (const ParameterId id : unit.parameters) {
    const Parameter& p = job.tree.parameters[static_cast<std::size_t>(id)];
    if (p.trains) sum += p.numel();
  }
  return sum;
}

// Of the tensors, those that the host holds anyway need no copy to it.
bool is_on_host(const Plan& plan) {
  return plan.offload.parameters || plan.offload.optimizer;
}

std::int64_t nanoseconds(double seconds) {
  return std::llround(1e9 * seconds);
}

class CheckpointEstimate {
 public:
  CheckpointEstimate(const Job& job, const Machine& machine, double shared_bandwidth)
      : job_(job),
        machine_(machine),
        host_(host_links_of(machine)),
        shared_bandwidth_(shared_bandwidth),
        ranks_per_host_(static_cast<int>(std::min<std::int64_t>(host_.devices, job.ranks))) {}

  void complete(CheckpointCost& cost) const {
    const int writers = cost.sharded.writers;
    const int replicas = job_.ranks / writers;
    cost.sharded.staging_bytes = cost.sharded.rank_bytes * std::min(writers, ranks_per_host_);
    const double copy = copy_s(cost.sharded.rank_bytes, writers);
    cost.sharded.blocking_ns = nanoseconds(copy);
    const auto write = storage_s(cost.sharded.bytes, writers, host_.write_bandwidth);
    if (write) cost.sharded.write_ns = nanoseconds(std::max(copy, *write));
    const auto read = storage_s(replicas * cost.sharded.bytes, job_.ranks, host_.read_bandwidth);
    const double copy_back = copy_s(cost.sharded.rank_bytes, job_.ranks);
    if (read) cost.sharded.read_ns = nanoseconds(std::max(copy_back, *read));

    const double gather = gather_s() + copy_s(cost.sharded.bytes, 1);
    cost.full.gather_ns = nanoseconds(gather);
    const auto alone = [&](double own) { return storage_s(cost.sharded.bytes, 1, own); };
    if (const auto s = alone(host_.write_bandwidth)) cost.full.write_ns = nanoseconds(gather + *s);
    if (const auto s = alone(host_.read_bandwidth)) cost.full.read_ns = nanoseconds(gather + *s);
    cost.storage = shared_bandwidth_ > 0 ? "shared" : host_.storage;
  }

 private:
  // All of so many ranks at once.
  double copy_s(std::int64_t bytes, int ranks) const {
    if (is_on_host(job_.plan)) return 0;
    return static_cast<double>(bytes) / host_copy_bytes_per_ns(machine_, ranks) / 1e9;
  }

  // Of bytes that are spread evenly over the hosts of so many ranks; `own`: each host's bandwidth.
  std::optional<double> storage_s(std::int64_t bytes, int ranks, double own) const {
    const auto all = static_cast<double>(bytes);
    const double hosts = std::ceil(static_cast<double>(ranks) / ranks_per_host_);
    if (shared_bandwidth_ > 0) {
      const double network = machine_.network_bandwidth * static_cast<double>(host_.devices);
      return std::max(all / shared_bandwidth_, all / hosts / network);
    }
    if (own <= 0) return std::nullopt;
    return all / hosts / own;
  }

  double gather_s() const {
    const int ranks = shard_group_size(job_);
    if (ranks == 1) return 0;
    const std::int64_t together = machine_.gpus_per_node;
    const GroupPlace place{ranks, ceil_divide(ranks, together)};
    const CollectiveNetwork network(machine_);
    double ns = 0;
    const std::vector<UnitLayout> units = unit_layouts(job_, place_of(job_, 0));
    const std::vector<std::int64_t> elements = element_bytes(job_.plan);
    for (std::size_t u = 0; u < units.size(); ++u) {
      const auto all = static_cast<double>(units[u].padded * ranks);
      const double trained = static_cast<double>(trained_of(job_, job_.units[u])) /
                             static_cast<double>(std::max<std::int64_t>(units[u].numel, 1));
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const double bytes = all * (i == 0 ? 1 : trained) * static_cast<double>(elements[i]);
        if (bytes > 0) ns += network.time(Operator::all_gather, bytes, place).ns;
      }
    }
    return ns / 1e9;
  }

  const Job& job_;
  const Machine& machine_;
  HostLinks host_;
  double shared_bandwidth_;
  int ranks_per_host_;
};

std::string seconds_text(const std::optional<std::int64_t>& ns) {
  return ns ? duration(*ns) : "an unknown time";
}

}  // namespace

std::int64_t checkpoint_bytes(const Job& job, int rank) {
  std::int64_t bytes = 0;
  for (const UnitLayout& unit : unit_layouts(job, place_of(job, rank))) {
    for (const ParameterShard& p : unit.parameters) bytes += bytes_of(job, p.parameter, p.local);
  }
  return bytes;
}

CheckpointCost checkpoint_cost(const Job& job, const Machine* machine, double shared_bandwidth) {
  CheckpointCost cost;
  const RankPlace first = place_of(job, 0);
  const std::vector<std::int64_t> elements = element_bytes(job.plan);
  const std::int64_t widest = *std::max_element(elements.begin(), elements.end());
  for (const UnitLayout& unit : unit_layouts(job, first)) {
    cost.full.device_bytes =
        std::max(cost.full.device_bytes, unit.padded * first[Group::shard].size * widest);
  }
  for (const Unit& unit : job.units) {
    for (const ParameterId id : unit.parameters) {
      cost.sharded.bytes +=
          bytes_of(job, id, job.tree.parameters[static_cast<std::size_t>(id)].numel());
    }
  }
  cost.sharded.writers = shard_group_size(job);
  cost.sharded.rank_bytes = checkpoint_bytes(job, 0);  // the first rank's shards are the largest
  cost.full.host_bytes = cost.sharded.bytes;
  if (machine != nullptr) CheckpointEstimate(job, *machine, shared_bandwidth).complete(cost);
  return cost;
}

std::string checkpoint_text(const CheckpointCost& cost) {
  const ShardedCheckpointCost& sharded = cost.sharded;
  const std::string where = cost.storage.empty()       ? ""
                            : cost.storage == "shared" ? " on shared storage"
                                                       : " on " + cost.storage;
  std::string text = "Checkpoint: " + binary_bytes(sharded.bytes) + " in " +
                     plural(sharded.writers, "shard") + ", " + binary_bytes(sharded.rank_bytes) +
                     " at most; saving takes " + seconds_text(sharded.write_ns) + where +
                     ", loading " + seconds_text(sharded.read_ns) + ".\n";
  if (sharded.blocking_ns) {
    text += "Saved asynchronously, training waits " + duration(*sharded.blocking_ns) +
            " for copies to " + binary_bytes(sharded.staging_bytes) +
            " of pinned memory on each host.\n";
  }
  text += "As a full state dictionary: " + binary_bytes(cost.full.device_bytes) +
          " more on each device and " + binary_bytes(cost.full.host_bytes) +
          " on the host of rank 0; saving takes " + seconds_text(cost.full.write_ns) +
          ", loading " + seconds_text(cost.full.read_ns) + ".\n";
  if (!sharded.write_ns) {
    text += "The storage's bandwidth is not known; --storage-bandwidth gives it.\n";
  }
  return text;
}

}  // namespace foreshard::simulator
