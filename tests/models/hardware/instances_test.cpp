// The catalogue of instances: whole, with prices that name their kind, and networks where there are any.
#include "models/hardware/instances.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace foreshard {
namespace {

TEST(Instances, EachIsAMachineOfTheCatalogueWithPricesThatHaveASource) {
  for (const Instance& instance : rented_instances()) {
    const Result<Machine> machine = load_machine(instance.id);
    ASSERT_TRUE(machine) << instance.id;
    EXPECT_EQ(instance_of(*machine), &instance);
    EXPECT_EQ(load_machine(instance.part)->name, machine->name);
    EXPECT_EQ(instance.reach, machine->gpus_per_node) << instance.id;
    std::set<PriceKind> kinds;
    for (const Price& price : instance.prices) {
      EXPECT_GT(price.usd_per_hour, 0) << instance.id;
      EXPECT_FALSE(price.date.empty() || price.source.empty()) << instance.id;
      EXPECT_TRUE(kinds.insert(price.kind).second) << instance.id << " has two of a kind";
    }
  }
  EXPECT_EQ(instance_of(*load_machine("h100-sxm")), nullptr);
}

TEST(Instances, APriceHasAKindAndARegion) {
  const auto price = [](const char* id, PriceKind kind) {
    const auto& prices = instance_of(*load_machine(id))->prices;
    return *std::find_if(prices.begin(), prices.end(),
                         [kind](const Price& of) { return of.kind == kind; });
  };
  EXPECT_EQ(price("p5.48xlarge", PriceKind::on_demand).region, "us-east-1");
  EXPECT_DOUBLE_EQ(price("p5.48xlarge", PriceKind::on_demand).usd_per_hour, 55.04);
  EXPECT_LT(price("p5.48xlarge", PriceKind::spot).usd_per_hour, 55.04);
  EXPECT_DOUBLE_EQ(price("p5e.48xlarge", PriceKind::capacity_block).usd_per_hour, 39.8);
}

TEST(Instances, NodesThatNoNetworkJoinsAreSaid) {
  const Machine alone = *load_machine("gpu_8x_h100_sxm5"), joined = *load_machine("p5.48xlarge");
  EXPECT_NE(missing_network(alone, 8).find("gpu_8x_h100_sxm5"), std::string::npos);
  EXPECT_EQ(missing_network(alone, 1), "");
  EXPECT_EQ(missing_network(joined, 8), "");
  EXPECT_EQ(missing_network(*load_machine("h100-sxm"), 8), "");
}

}  // namespace
}  // namespace foreshard
