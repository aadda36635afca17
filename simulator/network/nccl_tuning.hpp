// The constants of NCCL's own tuner (NCCL 2.28, graph/tuning): base and hop latencies in
// microseconds, bandwidth caps in GB/s. They decide which algorithm and protocol NCCL takes; how
// long that then lasts is in collective_time.hpp.
#pragma once

#include <array>

#include "simulator/network/nccl_planner.hpp"

namespace foreshard::simulator::tuning {

using PerProtocol = std::array<double, 3>;      // LL, LL128, Simple
using PerNodes = std::array<double, 3>;         // one node, two, more
using PerGeneration = std::array<PerNodes, 4>;  // as GpuGeneration

constexpr PerProtocol kTreeBase{6.8, 14.0, 8.4}, kRingBase{6.6, 14.0, 8.4};
constexpr PerProtocol kTreeNvlink{0.6, 1.25, 4.0}, kRingNvlink{0.6, 1.9, 3.4};
constexpr PerProtocol kTreePcie{1.0, 1.9, 4.0}, kRingPcie{1.0, 2.5, 5.7};
constexpr PerProtocol kTreeNetwork{5.0, 8.5, 14.0}, kRingNetwork{2.7, 4.0, 14.0};
constexpr double kNvlsNvlink = 25.0, kNvlsTreeNetwork = 20.9;
constexpr double kPatBase = 8.0, kPatNetwork = 14.0 / 3.5, kPatRank = 2.8, kPatShare = 0.75;

constexpr PerGeneration kLLTotal{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr PerGeneration kRingLL128{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}};
constexpr PerGeneration kTreeLL128{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr PerGeneration kTreeSimple{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr std::array<double, 4> kNvlsEfficiency{0, 0, 0.85, 0.74};

// Fewest bytes of the buffer for each thread of a channel, of which there are 512: smaller buffers
// take fewer channels. LL on rings takes its 8 for each rank.
constexpr double kThreads = 512, kLLThreshold = 8, kLL128Threshold = 8, kSimpleThreshold = 64;

}  // namespace foreshard::simulator::tuning
