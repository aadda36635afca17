// The links of TPU slices against grids that are built link by link, and collectives over them.
#include "simulator/network/torus.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "simulator/network/collective_time.hpp"

namespace foreshard::simulator {
namespace {

Torus torus_of(const std::string& machine) {
  return *Torus::of(*load_machine(machine));
}

// Google's documentation of slices; v5e and v6e have two dimensions, v4 and v5p three.
TEST(Torus, HasTheShapesThatCanBeRented) {
  using Axes = std::vector<std::int64_t>;
  const Torus flat = torus_of("tpu-v5e"), cubic = torus_of("tpu-v5p");
  const std::vector<std::pair<std::int64_t, Axes>> shapes_of_v5e = {
      {1, {1, 1}},  {4, {2, 2}},  {8, {2, 4}},    {16, {4, 4}},
      {32, {4, 8}}, {64, {8, 8}}, {128, {8, 16}}, {256, {16, 16}}};
  for (const auto& [chips, axes] : shapes_of_v5e) EXPECT_EQ(flat.axes(chips), axes);
  const std::vector<std::pair<std::int64_t, Axes>> shapes_of_v5p = {
      {4, {1, 2, 2}},      {8, {2, 2, 2}},       {32, {2, 4, 4}},   {64, {4, 4, 4}},
      {128, {4, 4, 8}},    {256, {4, 8, 8}},     {512, {8, 8, 8}},  {1024, {8, 8, 16}},
      {2048, {8, 16, 16}}, {4096, {16, 16, 16}}, {192, {4, 4, 12}}, {6144, {16, 16, 24}},
      {48, {4, 4, 4}},     {6, {2, 2, 2}}};
  for (const auto& [chips, axes] : shapes_of_v5p) EXPECT_EQ(cubic.axes(chips), axes);
  EXPECT_FALSE(Torus::of(*load_machine("h100-sxm")));
}

// The grid as a graph: a chip's links are its neighbours along each axis, and the one at the other
// end where the axis is closed; an axis of two has one link.
TEST(Torus, CornersHaveTheFewestLinksOfTheGrid) {
  for (const std::string machine : {"tpu-v4", "tpu-v6e"}) {
    const Torus torus = torus_of(machine);
    const bool is_flat = machine == "tpu-v6e";
    for (std::int64_t chips = 2; chips <= 256; chips *= 2) {
      const auto axes = torus.axes(chips);
      const bool is_of_cubes =
          std::all_of(axes.begin(), axes.end(), [](std::int64_t a) { return a % 4 == 0; });
      std::int64_t fewest = 100, farthest = 0;
      for (std::int64_t chip = 0; chip < chips; ++chip) {
        std::int64_t links = 0, hops = 0, rest = chip;
        for (const std::int64_t axis : axes) {
          const std::int64_t at = rest % axis;
          rest /= axis;
          const bool is_ring = is_flat ? axis == 16 : is_of_cubes;
          links += (at > 0 || (is_ring && axis > 1)) + (at + 1 < axis || (is_ring && axis > 1));
          hops += is_ring ? std::min(at, axis - at) : at;
        }
        fewest = std::min(fewest, links);
        farthest = std::max(farthest, hops);
      }
      EXPECT_EQ(torus.corner_links(chips), fewest) << machine << " of " << chips;
      EXPECT_EQ(torus.hops(chips), farthest) << machine << " of " << chips;
    }
  }
}

// Austin et al.: an array of B bytes is gathered over all axes of closed rings in
// B / (bandwidth of an axis, both ways, x axes); 90 GB/s each way on a v5p's links.
TEST(Torus, GathersAtTheBandwidthOfAllAxes) {
  const CollectiveNetwork network(*load_machine("tpu-v5p"));
  const double bytes = 1e9, seconds = bytes / (3 * 180e9) * 63 / 64;
  const double ns = network.time(Operator::all_gather, bytes, {64, 1}).ns;
  EXPECT_NEAR(ns / 1e9, seconds, 0.02 * seconds);
  // Half a cube has no closed axes.
  EXPECT_GT(network.time(Operator::all_gather, bytes, {32, 1}).ns, 1.8 * ns);
  EXPECT_NEAR(network.time(Operator::all_reduce, bytes, {64, 1}).ns, 2 * ns, 0.01 * ns);
}

// So that a larger slice never has less bandwidth at its corners.
TEST(Torus, LargerSlicesHaveNoFewerLinks) {
  for (const char* machine : {"tpu-v5e", "tpu-v5p"}) {
    const Torus torus = torus_of(machine);
    std::int64_t before = 0;
    for (std::int64_t chips = 1; chips <= 256; ++chips) {
      const auto axes = torus.axes(chips);
      EXPECT_GE(std::accumulate(axes.begin(), axes.end(), std::int64_t{1}, std::multiplies<>()),
                chips);
      EXPECT_GE(torus.corner_links(chips), before) << machine << " of " << chips;
      before = torus.corner_links(chips);
    }
  }
}

TEST(Torus, MoreBytesAndMoreSlicesTakeLonger) {
  for (const char* machine : {"tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"}) {
    const CollectiveNetwork network(*load_machine(machine));
    EXPECT_EQ(network.network(), "DCN");
    double before = 0;
    for (double bytes = 1; bytes < 1e10; bytes *= 10) {
      const CollectiveTime time = network.time(Operator::all_gather, bytes, {64, 1});
      EXPECT_GT(time.ns, before);
      EXPECT_EQ(time.choice.algorithm, Algorithm::torus);
      before = time.ns;
    }
    EXPECT_GT(network.time(Operator::all_gather, 1e9, {128, 2}).ns,
              network.time(Operator::all_gather, 1e9, {64, 1}).ns);
  }
}

}  // namespace
}  // namespace foreshard::simulator
