#include "simulator/network/nccl_planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "simulator/network/nccl_tuning.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::array<std::string_view, 7> kAlgorithms{"ring", "tree",  "nvls",  "nvlstree",
                                                      "pat",  "torus", "direct"};
constexpr std::array<std::string_view, 3> kProtocols{"ll", "ll128", "simple"};

// Trees lose bandwidth at sizes that are neither latency nor stream: a dip in the middle of 64 B to
// 256 MiB, deepest around 1 MiB.
double tree_correction(double bytes, Protocol protocol) {
  constexpr tuning::PerProtocol kDeepest{0.4, 0.6, 0.5};
  constexpr double kCentre = 19.5, kReach = 8;  // log2 of bytes
  const double distance = std::abs(std::log2(std::max(bytes, 1.0)) - kCentre) / kReach;
  const double deepest = kDeepest[static_cast<std::size_t>(protocol)];
  return std::min(1.0, deepest + (1 - deepest) * distance);
}

class Planner {
 public:
  Planner(const NcclSystem& system, Operator op, double bytes, std::int64_t ranks,
          std::int64_t nodes)
      : s_(system),
        is_all_reduce_(op == Operator::all_reduce),
        bytes_(bytes),
        ranks_(static_cast<double>(ranks)),
        nodes_(static_cast<double>(nodes)),
        per_node_(std::ceil(ranks_ / nodes_)),
        steps_(is_all_reduce_ ? 2 * (ranks_ - 1) : ranks_ - 1),
        row_(nodes <= 1   ? 0
             : nodes == 2 ? 1
                          : 2),
        generation_(static_cast<std::size_t>(system.generation)) {
    const double peers = std::max(1, s_.gpus_per_node - 1);
    const double reached = s_.is_mesh ? std::min(1.0, (per_node_ - 1) / peers) : 1.0;
    const double inside = s_.channels * s_.channel_gb_s * reached;
    const double network = s_.node_nic_gb_s * per_node_ / std::max(1, s_.gpus_per_node);
    bus_ = nodes <= 1 ? inside : per_node_ > 1 ? std::min(inside, network) : network;
  }

  NcclChoice choice(std::span<const Algorithm> allowed) {
    for (const Algorithm algorithm : allowed) consider(algorithm);
    choice_.channels = channels();
    return choice_;
  }

 private:
  void consider(Algorithm algorithm) {
    switch (algorithm) {
      case Algorithm::ring:
      case Algorithm::tree:
        for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
          if (protocol == Protocol::ll128 && !s_.has_nvlink) continue;
          if (algorithm == Algorithm::ring) {
            consider(algorithm, protocol, ring_latency(protocol),
                     ring_bus(protocol) * ranks_ / steps_);
          } else {
            consider(algorithm, protocol, tree_latency(protocol), tree_bus(protocol) / 2);
          }
        }
        return;
      case Algorithm::nvls:
        return consider(algorithm, Protocol::simple, tuning::kNvlsNvlink, nvls_bandwidth());
      case Algorithm::nvls_tree:
        return consider(algorithm, Protocol::simple,
                        tuning::kNvlsNvlink + 2 * std::log2(nodes_) * tuning::kNvlsTreeNetwork,
                        std::min(nvls_bandwidth(), bus_ * ranks_ / steps_));
      case Algorithm::pat:
        return consider(
            algorithm, Protocol::simple,
            tuning::kPatBase + std::log2(nodes_) * tuning::kPatNetwork + tuning::kPatRank * ranks_,
            tuning::kPatShare * bus_);
      case Algorithm::direct: return consider(algorithm, Protocol::simple, 0, bus_);
      case Algorithm::torus: return;  // none of NCCL's
    }
  }

  void consider(Algorithm algorithm, Protocol protocol, double latency, double bandwidth) {
    const double us = latency + bytes_ / (1000 * bandwidth);
    if (us >= best_) return;
    best_ = us;
    choice_ = {algorithm, protocol, 1};
  }

  int channels() const {
    const double of_thread =
        choice_.protocol == Protocol::simple ? tuning::kSimpleThreshold
        : choice_.protocol == Protocol::ll128
            ? tuning::kLL128Threshold
            : tuning::kLLThreshold * (choice_.algorithm == Algorithm::ring ? ranks_ : 1);
    const double filled = std::min(bytes_ / (tuning::kThreads * of_thread), 1e6);
    return std::clamp(static_cast<int>(filled), 1, most_channels(s_, choice_.algorithm));
  }

  double ring_latency(Protocol p) const {
    const auto at = static_cast<std::size_t>(p);
    const double inside = (s_.has_nvlink ? tuning::kRingNvlink : tuning::kRingPcie)[at];
    const double network_overhead = p == Protocol::simple ? 3.0 : 1.0;
    const double between = nodes_ <= 1 ? 0 : (is_all_reduce_ ? 2 : 1) * (nodes_ - 1);
    const double hop = nodes_ > 1 ? std::max(inside, network_overhead) : inside;
    return tuning::kRingBase[at] + (steps_ - between) * hop + between * tuning::kRingNetwork[at];
  }

  double ring_bus(Protocol p) const {
    if (p == Protocol::ll) return std::min(tuning::kLLTotal[generation_][row_], bus_ / 2);
    if (p == Protocol::simple) return bus_;
    return std::min(0.92 * bus_, s_.channels * tuning::kRingLL128[generation_][row_]);
  }

  double tree_latency(Protocol p) const {
    const auto at = static_cast<std::size_t>(p);
    const double inside = (s_.has_nvlink ? tuning::kTreeNvlink : tuning::kTreePcie)[at];
    return tuning::kTreeBase[at] +
           2 * ((per_node_ - 1) * inside + std::log2(nodes_) * tuning::kTreeNetwork[at]);
  }

  double tree_bus(Protocol p) const {
    const auto& caps = p == Protocol::ll128 ? tuning::kTreeLL128 : tuning::kTreeSimple;
    double bus = std::min(0.92 * bus_, s_.channels * caps[generation_][row_]);
    if (p == Protocol::ll) bus = std::min(bus / 3.8, tuning::kLLTotal[generation_][row_]);
    if (p == Protocol::ll128) bus *= nodes_ <= 1 ? 7.0 / 9 : 120.0 / 128;
    return bus * tree_correction(bytes_, p);
  }

  double nvls_bandwidth() const {
    const double channel = s_.nvls_channel_gb_s * tuning::kNvlsEfficiency[generation_] *
                           (s_.nvls_channels - 1) / s_.nvls_channels;
    const double bus = channel * s_.nvls_channels;
    if (is_all_reduce_) return 2 * bus * ranks_ / steps_;
    return bus * (per_node_ - 1) / per_node_;
  }

  const NcclSystem& s_;
  bool is_all_reduce_;
  double bytes_, ranks_, nodes_, per_node_, steps_;
  std::size_t row_, generation_;
  double bus_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  NcclChoice choice_;
};

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

std::string_view name_of(Protocol protocol) {
  return kProtocols[static_cast<std::size_t>(protocol)];
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
  const auto found = std::find(kAlgorithms.begin(), kAlgorithms.end(), name);
  if (found == kAlgorithms.end()) return std::nullopt;
  return static_cast<Algorithm>(found - kAlgorithms.begin());
}

int most_channels(const NcclSystem& system, Algorithm algorithm) {
  constexpr int kOfSwitches = 16;
  const bool uses_switches = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
  const int runs = system.generation == GpuGeneration::blackwell ? 1 : 2;
  return uses_switches ? kOfSwitches : runs * static_cast<int>(system.channels);
}

NcclChoice nccl_choice(const NcclSystem& system, Operator op, double bytes, std::int64_t ranks,
                       std::int64_t nodes, std::span<const Algorithm> allowed) {
  return Planner(system, op, bytes, ranks, nodes).choice(allowed);
}

}  // namespace foreshard::simulator
