// `foreshard collective`: its answers are consistent with each other.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

TEST(Collective, IsAnsweredAsNcclTestsCountsIt) {
  const Workplace place;
  const auto ask = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"collective", "--kind", "all_reduce", "--bytes", "256MiB"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return place.run_json(arguments);
  };
  const nlohmann::json node = ask({"--machine", "h200", "--ranks", "8"});
  for (const char* field : {"protocol", "channels", "memory_bytes"}) {
    EXPECT_TRUE(node.contains(field)) << field;
  }
  EXPECT_EQ(node["algorithm"], "nvls");
  EXPECT_EQ(node["source"], "modelled");
  const double ns = node.at("time_ns").get<double>();
  EXPECT_NEAR(node.at("bus_gb_s").get<double>(), 256.0 * 1048576 * 14 / 8 / ns, 0.01);
  const nlohmann::json ring = ask({"--machine", "h200", "--ranks", "8", "--algorithm", "ring"});
  EXPECT_EQ(ring["algorithm"], "ring");
  EXPECT_GT(ring["time_ns"], node["time_ns"]);
  const nlohmann::json slow =
      ask({"--machine", "h200", "--ranks", "16", "--nodes", "2", "--network", "25"});
  EXPECT_GT(slow["time_ns"], ask({"--machine", "h200", "--ranks", "16"})["time_ns"]);
}

// The network's technology follows from the machine and --network, and decides what hops take.
TEST(Collective, NamesTheNetworkThatItTakesTheNodesToHave) {
  const Workplace place;
  const auto network = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"collective", "--kind", "all_gather", "--bytes", "1MiB", "--ranks", "16"});
    return place.run_json(more)["network"];
  };
  EXPECT_EQ(network({"--machine", "p5.48xlarge"}), "EFA");
  EXPECT_EQ(network({"--machine", "h100-sxm", "--network", "100"}), "TCPX");
  EXPECT_EQ(network({"--machine", "h100-sxm", "--network", "99"}), "RDMA");
  EXPECT_TRUE(network({"--machine", "gb200"}).is_null());
}

}  // namespace
}  // namespace foreshard::cli_tests
