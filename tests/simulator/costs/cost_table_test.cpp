#include "simulator/costs/cost_table.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>

#include "simulator/costs/cost_model.hpp"
#include "tests/simulator/cost_keys.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::simulator {
namespace {

CostTable example() {
  CostTable table;
  table.machine_name = "A processor \"quoted\" \\ and long";
  table.cores = 2;
  table.memory_bytes_per_ns = 12.5;
  table.band = 0.08;
  ThreadCountCosts regime;
  regime.threads = 1;
  regime.measured[matmul(512, 384, 384)] = {1'500'000, 84};
  const FitRange operators{9, 4, 1e6, 1e9, 10, 1e3, 2e7};
  const FitRange collectives{4, 3, 1e4, 1e6, 0, 0, 2e5};
  regime.operators.push_back(
      {Operator::matmul, DType::fp32, false, 2000, 0.02, 0.1, 0.03, operators});
  regime.collectives.push_back(
      {Operator::all_gather, DType::fp32, 2, 1, 30'000, 1.5, 0.2, 0.05, collectives});
  regime.host.issue_ns[static_cast<std::size_t>(Kind::launch)] = 420;
  regime.host.wait_latency_ns = 9000;
  table.regimes.push_back(regime);
  table.crowding.push_back({1, 4, 1.1, 1.2});
  table.calibration.push_back({"small", "[batch]\n", "a b.fst", 2, 1, 100'000'000, 0.01, 1.03,
                               101'000'000, 97'000'000, 0.02});
  table.slowness_spread = 0.03;
  table.uncertainty_scale = 1.5;
  table.impossible_keys = 7;
  table.segments = {310'000, 420'000, 28, 3};
  return table;
}

TEST(CostTable, ReadsWhatItWrites) {
  const std::string text = to_json(example());
  const auto read = parse_cost_table(text, "costs.json");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_json(*read), text);
  EXPECT_EQ(read->regimes[0].measured.at(matmul(512, 384, 384)).count, 84);
  EXPECT_EQ(read->regimes[0].host.issue_ns[static_cast<std::size_t>(Kind::launch)], 420);
  EXPECT_EQ(read->segments.frees, 3);
  EXPECT_EQ(read->calibration[0].held_out_ns, 97'000'000);
}

TEST(CostTable, ReadsTheNamesOfEarlierVersions) {
  std::string text = to_json(example());
  for (const auto& [name, former] : {std::pair("\"uncertainty_scale\"", "\"doubt_scale\""),
                                     std::pair("\"held_out_uncertainty\"", "\"held_out_doubt\"")}) {
    ASSERT_NE(text.find(name), text.npos);
    text.replace(text.find(name), std::strlen(name), former);
  }
  const auto read = parse_cost_table(text, "costs.json");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_json(*read), to_json(example()));
}

TEST(CostTable, RanksThatShareCoresReachTheirShareOfThePeak) {
  const double best = 2.0 * 512 * 384 * 384 / 1'500'000;  // of one thread with a core of its own
  EXPECT_DOUBLE_EQ(table_costs(example(), 2)->platform.peak(DType::fp32), best);
  EXPECT_DOUBLE_EQ(table_costs(example(), 1)->platform.peak(DType::fp32), 2 * best);
  EXPECT_DOUBLE_EQ(table_costs(example(), 8)->platform.peak(DType::fp32), best / 4);
}

TEST(CostTable, SaysBeforehandThatItsFileCouldNotBeRead) {
  EXPECT_TRUE(check_cost_table(example(), "costs.json"));
  CostTable table = example();
  table.regimes[0].operators[0].ns_per_byte = 5e6;
  const auto checked = check_cost_table(table, "costs.json");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().file, "costs.json");
  EXPECT_EQ(checked.error().field, "regimes[0].operators[0].ns_per_byte");
}

TEST(CostTable, SavesAndLoads) {
  const tests::TemporaryFolder folder;
  ASSERT_TRUE(save_cost_table(example(), folder.path("cost täble.json")));
  const auto read = load_cost_table(folder.path("cost täble.json"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_json(*read), to_json(example()));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error error_of(const std::string& text) {
  const auto read = parse_cost_table(text, "costs.json");
  EXPECT_FALSE(read);
  return read ? Error{} : read.error();
}

TEST(CostTable, SaysWhatIsWrongAndWhere) {
  const std::string good = to_json(example());
  EXPECT_EQ(error_of("").file, "costs.json");
  EXPECT_NE(error_of("{").message.find("not JSON"), std::string::npos);
  EXPECT_EQ(error_of("[]").field, "format");
  EXPECT_EQ(error_of("{\"format\": 3}").field, "format");
  EXPECT_EQ(error_of(std::string(200, '[')).message.find("nests deeper than"), 0);
  EXPECT_EQ(error_of(replaced(good, "\"version\": 2", "\"version\": 99")).field, "version");
  EXPECT_EQ(error_of(replaced(good, "\"cores\": 2", "\"cores\": 0")).field, "machine.cores");
  EXPECT_EQ(error_of(replaced(good, "\"band\": 0.08", "\"band\": \"wide\"")).field, "band");
  EXPECT_EQ(error_of(replaced(good, "\"ns\": 1500000.0", "\"ns\": -1")).field,
            "regimes[0].measured[0].ns");
  EXPECT_EQ(error_of(replaced(good, "matmul fp32 512", "matmul fp99 512")).field,
            "regimes[0].measured[0].cost_key");
  EXPECT_EQ(error_of(replaced(good, "\"operator\": \"matmul\"", "\"operator\": \"sum\"")).field,
            "regimes[0].operators[0].operator");
  EXPECT_EQ(error_of(replaced(good, "\"factor\": 1.1", "\"factor\": null")).field,
            "crowding[0].factor");
}

TEST(CostTable, MissingFilesAndFoldersAreErrors) {
  EXPECT_EQ(load_cost_table("/nowhere/costs.json").error().file, "/nowhere/costs.json");
  EXPECT_FALSE(load_cost_table("/"));
  EXPECT_EQ(save_cost_table(example(), "/nowhere/costs.json").error().file, "/nowhere/costs.json");
}

TEST(TableCosts, AnswersFromTheBestSource) {
  const auto costs = table_costs(example(), 2);  // two ranks on two cores: one thread each
  const auto seen = costs->estimate(matmul(512, 384, 384), {});
  EXPECT_EQ(seen.source, CostSource::measured);
  EXPECT_DOUBLE_EQ(seen.ns, 1'500'000 * 1.1);  // the nearest number of ranks known crowds by 1.1

  const auto other = costs->estimate(matmul(4096, 4096, 4096), {});
  EXPECT_EQ(other.source, CostSource::fitted);
  const CostKey key = matmul(4096, 4096, 4096);
  // Far from what was measured the fit stands alone.
  EXPECT_NEAR(other.ns, 1.1 * (2000 + std::max(0.02 * flops(key), 0.1 * bytes_moved(key))),
              0.05 * other.ns);

  const auto never =
      costs->estimate({Operator::rope, DType::fp32, DType::fp32, DType::fp32, {1, 64, 6, 64}}, {});
  EXPECT_EQ(never.source, CostSource::modelled);
}

TEST(TableCosts, NearAMeasuredKeyItLeansOnIt) {
  CostTable table = example();
  table.crowding.clear();
  const CostKey near = matmul(512, 384, 400), measured = matmul(512, 384, 384);
  const auto plain = [&](const CostKey& k) {
    return 2000 + std::max(0.02 * flops(k), 0.1 * bytes_moved(k));
  };
  const double miss = 1'500'000 / plain(measured);
  const auto costs = table_costs(table, 2);
  EXPECT_NEAR(costs->estimate(near, {}).ns / plain(near), miss, 0.2 * std::abs(miss - 1));
}

// A product that was measured at one shape, against one of several sizes up to the same.
TEST(TableCosts, OneShapeDoesNotTellOfOthers) {
  CostTable table = example();
  table.crowding.clear();
  const CostKey seen = matmul(512, 1024, 1024);
  OperatorFit& fit = table.regimes[0].operators[0];
  table.regimes[0].measured = {{seen, {0.02 * flops(seen), 84}}};
  fit.overhead_ns = 0;
  const double ns = 0.02 * flops(seen), kind = flops(seen) / bytes_moved(seen);
  fit.range = {1, 1, flops(seen), flops(seen), kind, kind, ns};
  const auto of_one = table_costs(table, 2);
  fit.range = {9, 9, flops(seen) / 512, flops(seen), kind / 2, kind, ns};
  const auto of_several = table_costs(table, 2);
  EXPECT_EQ(of_one->estimate(seen, {}).source, CostSource::measured);
  double last_error = 0;
  for (const std::int64_t times : {2, 4, 16, 64}) {
    const CostKey larger = matmul(512 * times, 1024, 1024);
    const auto one = of_one->estimate(larger, {}), several = of_several->estimate(larger, {});
    EXPECT_GT(one.error, 1.2 * several.error) << times;
    EXPECT_GE(one.error, last_error) << times;
    EXPECT_EQ(one.source, times > 2 ? CostSource::modelled : CostSource::fitted) << times;
    EXPECT_EQ(several.source, CostSource::fitted) << times;
    last_error = one.error;
  }
  // What is far off is not believed beyond what any processor does.
  table.regimes[0].measured.clear();
  fit.ns_per_flop = 900;
  fit.range = {1, 1, flops(seen), flops(seen), kind, kind, ns};
  const CostKey far = matmul(1 << 16, 4096, 4096);
  EXPECT_NEAR(table_costs(table, 2)->estimate(far, {}).ns,
              10 * processor_costs(2, 2)->estimate(far, {}).ns, 1);
}

TEST(TableCosts, ThreadsThatNoRecordingHasDivideTheWork) {
  CostTable table = example();
  table.crowding.clear();
  const CostKey product = matmul(512, 384, 384);
  const CostKey add{Operator::add, DType::fp32, DType::fp32, DType::fp32, {1 << 20}};
  const CostKey gather{Operator::all_gather, DType::fp32, DType::fp32, DType::fp32, {1 << 20, 2}};
  const double add_ns = bytes_moved(add) / 10;  // nothing here moves bytes quicker
  table.regimes[0].measured[add] = {add_ns, 10};
  table.regimes[0].measured[gather] = {1e5, 10};
  const auto costs = table_costs(table, 1);  // two threads
  const auto halved = costs->estimate(product, {});
  EXPECT_DOUBLE_EQ(halved.ns, 750'000);
  EXPECT_EQ(halved.source, CostSource::fitted);
  EXPECT_GT(halved.error, 0.1);
  EXPECT_DOUBLE_EQ(costs->estimate(add, {}).ns, add_ns);
  EXPECT_DOUBLE_EQ(costs->estimate(gather, {}).ns, 1e5);

  table.cores = 1;
  table.regimes[0].threads = 2;
  EXPECT_DOUBLE_EQ(table_costs(table, 1)->estimate(product, {}).ns, 3'000'000);
}

TEST(TableCosts, SaysWhenThreadsDiffer) {
  EXPECT_TRUE(table_costs(example(), 2)->wording.warnings.empty());
  EXPECT_FALSE(table_costs(example(), 1)->wording.warnings.empty());
}

}  // namespace
}  // namespace foreshard::simulator
