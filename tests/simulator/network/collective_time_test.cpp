// The time of a collective: its law by hand, what no machine can break, and what others measured.
#include "simulator/network/collective_time.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/program/bus_bandwidth.hpp"
#include "tests/simulator/network/measured_collectives.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kMebi = 1024.0 * 1024, kGibi = 1024 * kMebi;

CollectiveNetwork network_of(const std::string& id, double node_gb_s = 0) {
  return CollectiveNetwork(*load_machine(id), node_gb_s * 1e9);
}

double us(const CollectiveNetwork& network, Operator op, double bytes, const GroupPlace& place,
          std::optional<Algorithm> forced = {}) {
  return network.time(op, bytes, place, forced).ns / 1000;
}

// Round terms, to calculate with.
CollectiveTerms round_terms() {
  return parse_collective_terms(
             "technology,efficiency,startup_us,hop_us,pipeline_us,least_ranks,filling_mib\n"
             "NCCL,,10,,,,1\n"
             "NVLink,0.8,0,1,2,0,\n"
             "NVLink4 SHARP,0.5,0,0,4,5,\n"
             "xGMI,0.7,0,1,2,0,\n"
             "PCIe,0.5,0,1,2,0,\n"
             "RDMA,0.9,30,5,7,0,\n",
             "terms.csv")
      .value();
}

TEST(CollectiveTime, OfARingByHand) {
  // 8 H100 gather 64 MiB: 10 and 7 hops of 1; 7/8 of the bytes at 0.8 x 450 = 360 GB/s take 163.1;
  // each of 7 steps fills 2, over the 8 MiB that fill all: 20.4; 2 sqrt(14 x 20.4) = 33.8.
  const CollectiveNetwork h100(*load_machine("h100-sxm"), 0, round_terms());
  const double bytes = 64 * kMebi;
  EXPECT_NEAR(us(h100, Operator::all_gather, bytes, {8}), 17 + 163.1 + 33.8, 0.2);
  // An all-reduce passes twice: on a ring 24 + 326.2 + 67.6; switches take 10 and 298.3 at
  // 225 GB/s, and 4 sqrt(8) = 11.3 of filling: 2 sqrt(11.3 x 37.3) = 41.1.
  EXPECT_NEAR(us(h100, Operator::all_reduce, bytes, {8}, Algorithm::ring), 24 + 326.2 + 67.6, 0.2);
  EXPECT_NEAR(us(h100, Operator::all_reduce, bytes, {8}), 10 + 298.3 + 41.1, 0.2);
}

TEST(CollectiveTime, OfExchangesAndTransfersByHand) {
  // In a node each rank sends 7/8 of what it has, as rings do. A broadcast sends all of it.
  const CollectiveNetwork h100(*load_machine("h100-sxm"), 0, round_terms());
  const double bytes = 64 * kMebi;
  EXPECT_DOUBLE_EQ(us(h100, Operator::all_to_all, bytes, {8}),
                   us(h100, Operator::all_gather, bytes, {8}, Algorithm::ring));
  EXPECT_NEAR(us(h100, Operator::broadcast, bytes, {8}), 17 + 186.4 + 36.1, 0.2);
  // One step, which 2 MiB fill.
  EXPECT_NEAR(us(h100, Operator::transfer, bytes, {2}), 11 + 186.4 + 6.8, 0.2);
  // Of 8 x 1 GiB on each of two nodes half leaves it, at 180 GB/s: 23,861, which is slower than 7/16 of
  // 1 GiB at the links' 240. 10 + 7 + 30 + 5, and 16 MiB fill 7 x 2 + 7.
  const CollectiveNetwork a100(*load_machine("a100-sxm-80"), 180e9 / 0.9, round_terms());
  const double filled = 2 * std::sqrt(21 * 23861.0 / 64);
  EXPECT_NEAR(us(a100, Operator::all_to_all, kGibi, {16, 2}), 52 + 23861 + filled, 5);
}

TEST(CollectiveTime, BetweenNodesByHand) {
  // 16 A100 80 GB on two nodes of 200 GB/s: 0.9 of them, 180, are narrower than the links' 240. One
  // of 15 hops is the network's: 10 + 14 + 30 + 5; 15/16 of 1 GiB take 5592; 16 MiB fill the steps,
  // 14 x 2 + 7.
  const CollectiveNetwork a100(*load_machine("a100-sxm-80"), 180e9 / 0.9, round_terms());
  const double filled = 2 * std::sqrt(35 * 5592.0 / 64);
  EXPECT_NEAR(us(a100, Operator::all_gather, kGibi, {16, 2}), 59 + 5592 + filled, 1);
}

// Switches of four nodes, which have half as much to each other as to their nodes.
TEST(CollectiveTime, SwitchesThatAreOversubscribedSlowWhatLeavesThem) {
  Machine machine = *load_machine("h100-sxm");
  const double bytes = 1000 * kMebi;
  const auto us_of = [&](Operator op, std::int64_t nodes) {
    return us(CollectiveNetwork(machine, 0, round_terms()), op, bytes, {8 * nodes, nodes});
  };
  const double within = us_of(Operator::all_to_all, 4), ring = us_of(Operator::all_gather, 16),
               exchange = us_of(Operator::all_to_all, 16);
  machine.nodes_per_leaf = 4;
  machine.oversubscription = 2;
  EXPECT_DOUBLE_EQ(us_of(Operator::all_to_all, 4), within);
  EXPECT_DOUBLE_EQ(us_of(Operator::all_gather, 16), ring);  // one node at a time leaves a switch
  EXPECT_NEAR(us_of(Operator::all_to_all, 16) / exchange, 2 * 12.0 / 16, 0.05);
  machine.is_scattered = true;
  EXPECT_NEAR(us_of(Operator::all_gather, 16) / ring, 2, 0.2);
  EXPECT_NEAR(us_of(Operator::all_to_all, 4) / within, 2, 0.1);
  machine.is_scattered = false;
  machine.nodes_per_leaf = 1;
  EXPECT_NEAR(us_of(Operator::all_gather, 16) / ring, 2, 0.2);
}

TEST(CollectiveTime, OfAMeshIsThatOfItsLinks) {
  const CollectiveNetwork mi300x = network_of("mi300x");
  const auto bus = [&](std::int64_t ranks) {
    return bus_gb_s(Operator::all_reduce, 8 * kGibi, ranks,
                    mi300x.time(Operator::all_reduce, 8 * kGibi, {ranks}).ns);
  };
  // A pair has one link of seven, four have three.
  EXPECT_NEAR(bus(8) / bus(2), 7, 0.2);
  EXPECT_NEAR(bus(4) / bus(2), 3, 0.1);
  EXPECT_EQ(mi300x.algorithms(Operator::all_reduce, {8}),
            (std::vector{Algorithm::ring, Algorithm::tree}));
}

TEST(CollectiveTime, OfBridgesIsForPairsOnly) {
  const CollectiveNetwork h100 = network_of("h100-pcie");
  const auto bus = [&](std::int64_t ranks) {
    return bus_gb_s(Operator::all_gather, kGibi, ranks,
                    h100.time(Operator::all_gather, kGibi, {ranks}).ns);
  };
  EXPECT_GT(bus(2), 100);
  EXPECT_LT(bus(4), 63);  // PCIe 5
}

// Of an L40S, which has no links, and of more H100 than a bridge joins.
TEST(CollectiveTime, WithoutLinksTheWayToTheHostIsTaken) {
  for (const auto& [id, ranks] : {std::pair("l40s", 2), {"h100-pcie", 4}}) {
    const CollectiveTime time = network_of(id).time(Operator::all_gather, kGibi, {ranks});
    EXPECT_GT(time.host_link, 0.9) << id;
    EXPECT_EQ(time.links, 0) << id;
  }
  const CollectiveTime pair = network_of("h100-pcie").time(Operator::all_gather, kGibi, {2});
  EXPECT_EQ(pair.host_link, 0);
  EXPECT_GT(pair.links, 0.9);
}

TEST(CollectiveTime, AlgorithmsAreThoseThatNcclHas) {
  const auto of = [](const std::string& id, Operator op, GroupPlace place) {
    return network_of(id).algorithms(op, place);
  };
  using enum Algorithm;
  EXPECT_EQ(of("h100-sxm", Operator::all_reduce, {8}), (std::vector{ring, tree, nvls}));
  EXPECT_EQ(of("h100-sxm", Operator::all_gather, {8}), (std::vector{ring, nvls}));
  EXPECT_EQ(of("h100-sxm", Operator::all_reduce, {16, 2}), (std::vector{ring, tree, nvls_tree}));
  EXPECT_EQ(of("h100-sxm", Operator::all_gather, {16, 2}), (std::vector{ring}));
  EXPECT_EQ(of("h100-sxm", Operator::all_gather, {4, 4}), (std::vector{ring, pat}));
  EXPECT_EQ(of("a100-sxm-80", Operator::all_reduce, {8}), (std::vector{ring, tree}));
  EXPECT_EQ(of("gb200", Operator::all_reduce, {72}), (std::vector{ring, tree, nvls}));
}

TEST(CollectiveTime, SmallGroupsTakeRingsThoughThereAreSwitches) {
  // Seen on H200 and B200 (NCCL 2.27): rings up to 4 and 5 GPUs.
  const auto chosen = [](const std::string& id, std::int64_t ranks) {
    return network_of(id).time(Operator::all_reduce, 8 * kGibi, {ranks}).choice.algorithm;
  };
  EXPECT_EQ(chosen("h200", 4), Algorithm::ring);
  EXPECT_EQ(chosen("h200", 5), Algorithm::nvls);
  EXPECT_EQ(chosen("b200", 5), Algorithm::ring);
  EXPECT_EQ(chosen("b200", 6), Algorithm::nvls);
}

TEST(CollectiveTime, TheCatalogueTellsTheNetwork) {
  EXPECT_EQ(network_of("p5.48xlarge").network(), "EFA");
  EXPECT_EQ(network_of("ND96isr_H100_v5").network(), "IB");
  EXPECT_EQ(network_of("a3-megagpu-8g").network(), "TCPXO");
  // A part alone: by its bandwidth, where one kind of instance has it.
  EXPECT_EQ(network_of("h100-sxm", 100).network(), "TCPX");
  EXPECT_EQ(network_of("h100-sxm", 200).network(), "TCPXO");
  EXPECT_EQ(network_of("h100-sxm", 400).network(), "RDMA");  // EFA and InfiniBand
  EXPECT_EQ(network_of("mi300x").network(), "RDMA");
  // An instance with another network than its own is a part again.
  EXPECT_EQ(network_of("p5.48xlarge", 200).network(), "TCPXO");
}

TEST(CollectiveTime, GroupsThatStraddleNodesAreNoFasterThanAlignedOnes) {
  // 24 ranks on nodes of 8 in groups of 6: ranks 6 and 7 with 8 to 11, beside the other groups.
  for (const char* id : {"a100-sxm-40", "h100-sxm", "b200", "mi300x"}) {
    const CollectiveNetwork network = network_of(id);
    for (const double bytes : {16 * kMebi, 512 * kMebi}) {
      const auto gather = [&](const GroupPlace& place) {
        return us(network, Operator::all_gather, bytes, place);
      };
      const double straddling = gather({6, 2, 2, 8});
      EXPECT_GT(straddling, gather({6, 1, 6, 8})) << id;
      EXPECT_GT(straddling, gather({8, 1, 8, 8})) << id;
      EXPECT_GT(straddling, gather({6, 2, 3, 8})) << id;
      EXPECT_GE(straddling, gather({12, 2, 4, 8}) * 0.9) << id;
    }
  }
}

TEST(CollectiveTime, NeighboursShareTheNetworkCards) {
  // One rank of each of 8 nodes, alone and as one of eight groups at the same time.
  const CollectiveNetwork network = network_of("h100-sxm");
  const double alone = us(network, Operator::all_reduce, kGibi, {8, 8});
  const double together = us(network, Operator::all_reduce, kGibi, {8, 8, 1, 8});
  EXPECT_LE(alone, together);
  // 50 GB/s are a rank's share: 7/8 twice.
  EXPECT_GE(together, kGibi * 2 * 7 / 8 / 50e3);
}

TEST(CollectiveTime, SlicesOfOneChipHaveTheirWayToTheNetwork) {
  const CollectiveTime time = network_of("tpu-v5e").time(Operator::all_gather, kMebi, {64, 64});
  EXPECT_EQ(time.choice.channels, 1);
  EXPECT_GT(time.ns, 0);
}

TEST(CollectiveTime, NodesAreAsLargeAsTheCataloguesLargest) {
  EXPECT_EQ(largest_node(*load_machine("h100-sxm")), 8);
  EXPECT_EQ(largest_node(*load_machine("a100-sxm-40")), 16);  // GCP a2-megagpu-16g
  EXPECT_EQ(largest_node(*load_machine("p4d.24xlarge")), 8);
  EXPECT_EQ(largest_node(*load_machine("gh200-96")), 4);
}

TEST(CollectiveTime, OfOneRankIsNothing) {
  EXPECT_EQ(network_of("h100-sxm").time(Operator::all_gather, kGibi, {1}).ns, 0);
}

TEST(CollectiveTime, TermsThatAreNoneAreNamed) {
  const auto error = [](const std::string& row) {
    return parse_collective_terms(
               "technology,efficiency,startup_us,hop_us,pipeline_us,least_ranks,filling_mib\n" +
                   row,
               "terms.csv")
        .error();
  };
  EXPECT_EQ(error("NVLink,1.2,0,1,2,0,\n").field, "efficiency");
  EXPECT_EQ(error("NVLink,0.8,0,soon,2,0,\n").field, "hop_us");
  EXPECT_EQ(error("NCCL,,10,,,,\n").file, "terms.csv:2");
}

// A question that could be asked of any machine of the catalogue.
struct AnyQuestion {
  const Machine* machine;
  Operator op;
  GroupPlace place;
  double bytes;
};

AnyQuestion any_question() {
  const auto& machines = bundled_machines();
  AnyQuestion question;
  question.machine = &machines[*rc::gen::inRange<std::size_t>(0, machines.size())];
  question.op =
      *rc::gen::element(Operator::all_gather, Operator::reduce_scatter, Operator::all_reduce);
  const auto nodes = *rc::gen::element(1, 1, 2, 3, 4, 16, 64);
  const auto here = *rc::gen::inRange<std::int64_t>(1, question.machine->gpus_per_node + 1);
  question.place = {nodes * here, nodes};
  question.bytes = *rc::gen::inRange(1, 1 << 30);
  return question;
}

RC_GTEST_PROP(CollectiveLaws, MoreBytesNeverTakeLess, ()) {
  const AnyQuestion q = any_question();
  const CollectiveNetwork network(*q.machine);
  const double more = q.bytes + *rc::gen::inRange(1, 1 << 30);
  RC_ASSERT(network.time(q.op, more, q.place).ns >= network.time(q.op, q.bytes, q.place).ns);
  for (const Algorithm algorithm : network.algorithms(q.op, q.place)) {
    RC_ASSERT(network.time(q.op, more, q.place, algorithm).ns >=
              network.time(q.op, q.bytes, q.place, algorithm).ns);
  }
}

RC_GTEST_PROP(CollectiveLaws, NoLinkAndNoCardCarriesMoreThanItCan, ()) {
  const AnyQuestion q = any_question();
  const Machine& machine = *q.machine;
  const CollectiveNetwork network(machine);
  const auto nodes = static_cast<double>(q.place.nodes);
  for (const Algorithm algorithm : network.algorithms(q.op, q.place)) {
    const double ns = network.time(q.op, q.bytes, q.place, algorithm).ns;
    if (q.place.ranks == 1) continue;
    RC_ASSERT(ns > 0);
    if (q.op != Operator::all_reduce && q.place.nodes == 1) {
      const double way = std::max(machine.link_bandwidth, machine.host_bandwidth) / 1e9;
      RC_ASSERT(bus_gb_s(q.op, q.bytes, q.place.ranks, ns) <= way);
    }
    // Each node must get what the others hold.
    const double cards = machine.network_bandwidth * static_cast<double>(machine.gpus_per_node);
    RC_ASSERT(ns >= 1e9 * q.bytes * (nodes - 1) / nodes / cards);
  }
}

RC_GTEST_PROP(CollectiveLaws, ForcingAnAlgorithmIsNoFasterThanNcclsOwnOne, ()) {
  const AnyQuestion q = any_question();
  const CollectiveNetwork network(*q.machine);
  const double own = network.time(q.op, q.bytes, q.place).ns;
  const Algorithm first = network.algorithms(q.op, q.place).front();
  const CollectiveTime forced = network.time(q.op, q.bytes, q.place, first);
  RC_ASSERT(forced.ns >= own);
  RC_ASSERT(q.place.ranks == 1 || forced.choice.algorithm == first);
}

RC_GTEST_PROP(CollectiveLaws, SharingTheCardsIsNoFaster, ()) {
  AnyQuestion q = any_question();
  const CollectiveNetwork network(*q.machine);
  const double alone = network.time(q.op, q.bytes, q.place).ns;
  q.place.sharing_the_cards = q.machine->gpus_per_node;
  RC_ASSERT(network.time(q.op, q.bytes, q.place).ns >= alone);
}

RC_GTEST_PROP(CollectiveLaws, ChannelsAndMemoryTrafficAreThoseOfADevice, ()) {
  const AnyQuestion q = any_question();
  const CollectiveTime time = CollectiveNetwork(*q.machine).time(q.op, q.bytes, q.place);
  RC_ASSERT(time.choice.channels >= 1 && time.choice.channels <= 56);
  RC_PRE(q.place.ranks > 1);
  // At least what comes must be written, at most read and written thrice in each of two passes.
  RC_ASSERT(time.memory_bytes >= q.bytes / 2 && time.memory_bytes <= 6 * q.bytes);
}

TEST(MeasuredCollectives, AreWhatThePublishedTermsSay) {
  const auto rows = measured_collectives();
  ASSERT_GT(rows.size(), 400u);
  const ErrorQuantiles all = error_quantiles(rows, bundled_collective_terms());
  EXPECT_LT(all.median, 0.06);
  EXPECT_LT(all.nine_in_ten, 0.30);
  const ErrorQuantiles told = error_quantiles(with_networks(rows), bundled_collective_terms());
  EXPECT_LT(told.median, 0.10);
  EXPECT_LT(told.nine_in_ten, 0.40);
}

TEST(MeasuredCollectives, AreFoundFromOtherSourcesToo) {
  // The source with the most tables, by terms that have seen the others only.
  const std::string left_out = "stas00/ml-engineering@744d01e (network chapter)";
  std::vector<MeasuredCollective> own, others;
  for (MeasuredCollective& row : measured_collectives()) {
    (row.source == left_out ? own : others).push_back(std::move(row));
  }
  ASSERT_GT(own.size(), 60u);
  const ErrorQuantiles errors = error_quantiles(own, fitted_terms(others, unfitted_terms()));
  EXPECT_LT(errors.median, 0.08);
  EXPECT_LT(errors.nine_in_ten, 0.20);
}

}  // namespace
}  // namespace foreshard::simulator
