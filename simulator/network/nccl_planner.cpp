#include "simulator/network/nccl_planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace foreshard::simulator {
namespace {

// All latencies are microseconds, all bandwidths GB/s; columns LL, LL128, Simple.
enum Protocol { kLL, kLL128, kSimple, kProtocols };
using PerProtocol = std::array<double, kProtocols>;

constexpr PerProtocol kTreeBase{6.8, 14.0, 8.4};
constexpr PerProtocol kRingBase{6.6, 14.0, 8.4};
constexpr PerProtocol kTreeNvlink{0.6, 1.25, 4.0};
constexpr PerProtocol kRingNvlink{0.6, 1.9, 3.4};
constexpr PerProtocol kTreePcie{1.0, 1.9, 4.0};
constexpr PerProtocol kRingPcie{1.0, 2.5, 5.7};
constexpr PerProtocol kTreeNetwork{5.0, 8.5, 14.0};
constexpr PerProtocol kRingNetwork{2.7, 4.0, 14.0};
constexpr double kNvlsNvlink = 25.0, kNvlsTreeNetwork = 20.9, kPatNetwork = 14.0;

// By generation, for one node, two and more.
using PerNodes = std::array<double, 3>;
constexpr PerNodes kLLTotal[] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
constexpr PerNodes kRingLL128[] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}};
constexpr PerNodes kTreeLL128[] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr PerNodes kTreeSimple[] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double kNvlsEfficiency[] = {0, 0, 0.85, 0.74};

// Trees lose bandwidth at sizes that are neither latency nor stream: a dip in the middle of 64 B to
// 256 MiB, deepest around 1 MiB.
double tree_correction(double bytes, Protocol protocol) {
  constexpr PerProtocol kDeepest{0.4, 0.6, 0.5};
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

  double best_us() {
    for (const Protocol protocol : {kLL, kLL128, kSimple}) {
      if (protocol == kLL128 && !s_.has_nvlink) continue;
      consider(ring_latency(protocol), ring_bus(protocol) * ranks_ / steps_);
      if (is_all_reduce_) consider(tree_latency(protocol), tree_bus(protocol) / 2);
    }
    if (s_.has_nvls && nodes_ <= 1 && ranks_ > 2) consider(kNvlsNvlink, nvls_bandwidth());
    if (s_.has_nvls && nodes_ > 1 && is_all_reduce_ && per_node_ > 2) {
      consider(kNvlsNvlink + 2 * std::log2(nodes_) * kNvlsTreeNetwork,
               std::min(nvls_bandwidth(), bus_ * ranks_ / steps_));
    }
    if (!is_all_reduce_ && nodes_ > 1 && per_node_ <= 1) {
      consider(8 + std::log2(nodes_) * kPatNetwork / 3.5 + 2.8 * ranks_, 0.75 * bus_);
    }
    return best_;
  }

 private:
  void consider(double latency, double algorithm_bandwidth) {
    best_ = std::min(best_, latency + bytes_ / (1000 * algorithm_bandwidth));
  }

  double ring_latency(Protocol p) const {
    const double inside = (s_.has_nvlink ? kRingNvlink : kRingPcie)[static_cast<std::size_t>(p)];
    const double network_overhead = p == kSimple ? 3.0 : 1.0;
    const double between = nodes_ <= 1 ? 0 : (is_all_reduce_ ? 2 : 1) * (nodes_ - 1);
    const double hop = nodes_ > 1 ? std::max(inside, network_overhead) : inside;
    return kRingBase[static_cast<std::size_t>(p)] + (steps_ - between) * hop +
           between * kRingNetwork[static_cast<std::size_t>(p)];
  }

  double ring_bus(Protocol p) const {
    if (p == kLL) return std::min(kLLTotal[generation_][row_], bus_ / 2);
    if (p == kLL128) return std::min(0.92 * bus_, s_.channels * kRingLL128[generation_][row_]);
    return bus_;
  }

  double tree_latency(Protocol p) const {
    const double inside = (s_.has_nvlink ? kTreeNvlink : kTreePcie)[static_cast<std::size_t>(p)];
    return kTreeBase[static_cast<std::size_t>(p)] +
           2 * ((per_node_ - 1) * inside +
                std::log2(nodes_) * kTreeNetwork[static_cast<std::size_t>(p)]);
  }

  double tree_bus(Protocol p) const {
    const double cap = (p == kLL128 ? kTreeLL128 : kTreeSimple)[generation_][row_];
    double bus = std::min(0.92 * bus_, s_.channels * cap);
    if (p == kLL) bus = std::min(bus / 3.8, kLLTotal[generation_][row_]);
    if (p == kLL128) bus *= nodes_ <= 1 ? 7.0 / 9 : 120.0 / 128;
    return bus * tree_correction(bytes_, p);
  }

  double nvls_bandwidth() const {
    const double channel = s_.nvls_channel_gb_s * kNvlsEfficiency[generation_] *
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
};

}  // namespace

double nccl_time_ns(const NcclSystem& system, Operator op, double bytes, std::int64_t ranks,
                    std::int64_t nodes) {
  if (ranks <= 1) return 0;
  return 1000 * Planner(system, op, bytes, ranks, nodes).best_us();
}

}  // namespace foreshard::simulator
