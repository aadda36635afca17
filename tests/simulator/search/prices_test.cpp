// What is paid an hour: whole instances, joined ones over several nodes, prices of one kind.
#include "simulator/search/prices.hpp"

#include <gtest/gtest.h>

namespace foreshard::simulator {
namespace {

Rent on_demand(const char* machine, int gpus, int nodes) {
  return rent_of(*load_machine(machine), gpus, nodes, PriceKind::on_demand, {});
}

TEST(Rent, IsOfWholeInstances) {
  const double one = on_demand("p5.48xlarge", 8, 1).usd_per_hour;
  EXPECT_DOUBLE_EQ(one, 55.04);
  EXPECT_DOUBLE_EQ(on_demand("p5.48xlarge", 1, 1).usd_per_hour, one);
  EXPECT_DOUBLE_EQ(on_demand("p5.48xlarge", 12, 2).usd_per_hour, 2 * one);
  EXPECT_DOUBLE_EQ(on_demand("p5.48xlarge", 17, 3).usd_per_hour, 3 * one);
  // Two GPUs on each of four nodes.
  EXPECT_EQ(on_demand("p5.48xlarge", 8, 4).instances, 4);
  const Prices own{{"p5.48xlarge", 3}, {"h100-sxm", 3}};
  const auto rent = [&](const char* machine) {
    return rent_of(*load_machine(machine), 4, 1, PriceKind::on_demand, own).usd_per_hour;
  };
  EXPECT_DOUBLE_EQ(rent("p5.48xlarge"), 24);
  EXPECT_DOUBLE_EQ(rent("h100-sxm"), 12);
}

TEST(Rent, OfAPartIsThatOfTheCheapestInstanceThatCan) {
  EXPECT_EQ(on_demand("h100-sxm", 1, 1).instance, "gpu_1x_h100_sxm5");
  EXPECT_EQ(on_demand("h100-sxm", 8, 1).instance, "gpu_8x_h100_sxm5");
  EXPECT_EQ(on_demand("h100-sxm", 64, 8).instance, "p5.48xlarge");
  EXPECT_DOUBLE_EQ(on_demand("h100-sxm", 64, 8).usd_per_hour, 8 * 55.04);
}

// A capacity block of H200 is cheaper than any hour on demand.
TEST(Rent, IsOfTheKindThatIsAskedForWhereThereIsOne) {
  const auto kind_of = [](const char* machine, PriceKind kind) {
    return rent_of(*load_machine(machine), 16, 2, kind, {}).kind;
  };
  EXPECT_EQ(kind_of("h200", PriceKind::on_demand), "on-demand");
  EXPECT_EQ(kind_of("h200", PriceKind::capacity_block), "capacity-block");
  EXPECT_EQ(kind_of("h200", PriceKind::spot), "spot");
  EXPECT_EQ(kind_of("h200", PriceKind::reserved), "on-demand");
  EXPECT_EQ(kind_of("p5e.48xlarge", PriceKind::on_demand), "capacity-block");
  EXPECT_EQ(kind_of("mi300x", PriceKind::on_demand), "");
}

}  // namespace
}  // namespace foreshard::simulator
