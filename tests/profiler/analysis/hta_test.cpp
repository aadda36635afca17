// Breakdown and overlap against Holistic Trace Analysis, on our own samples and on recordings of
// others. The golden figures are made by scripts/make_hta_golden.py from the recordings, of which
// those of others are not ours to ship.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "profiler/analysis/analysis.hpp"
#include "tests/outside_data.hpp"
#include "traces/import.hpp"

namespace foreshard::profiler {
namespace {

const std::filesystem::path kSource = FORESHARD_SOURCE_DIR;

void expect_same(const std::filesystem::path& recordings, const std::string& figures) {
  std::ifstream file(kSource / "tests" / "golden" / figures);
  const auto golden = nlohmann::json::parse(file);
  ASSERT_FALSE(golden.empty());
  for (const auto& [name, expected] : golden.items()) {
    const auto runs = traces::import_kineto({(recordings / name).string()});
    ASSERT_TRUE(runs) << runs.error().text();
    ASSERT_EQ(runs->size(), 1u);
    const Analysis analysis = analyse(runs->front());
    ASSERT_EQ(analysis.ranks.size(), 1u) << name;
    const TimeBreakdown& time = analysis.ranks[0].time;
    const auto expect = [&, &name = name, &expected = expected](const char* key, std::int64_t ns) {
      const double us = expected.at(key).get<double>();
      EXPECT_NEAR(static_cast<double>(ns) / 1000, us, 1e-4 * us) << name << " " << key;
    };
    expect("span_us", time.span_ns);
    expect("compute_us", time.compute_ns);
    expect("idle_us", time.idle_ns);
    expect("non_compute_us", time.span_ns - time.compute_ns - time.idle_ns);
    const double overlap = time.communication_ns == 0
                               ? 0
                               : 100 * static_cast<double>(time.overlap_ns) /
                                     static_cast<double>(time.communication_ns);
    // Rounded to two decimals there.
    EXPECT_NEAR(
        overlap,
        expected.at("overlap_percent").is_null() ? 0 : expected.at("overlap_percent").get<double>(),
        0.00501)
        << name;
  }
}

TEST(HolisticTraceAnalysis, SaysTheSameOfTheSamples) {
  expect_same(kSource / "traces" / "samples", "hta_samples.json");
}

TEST(HolisticTraceAnalysis, SaysTheSame) {
  const auto recordings = tests::outside_data("traces/kineto/hta");
  if (!std::filesystem::exists(recordings)) GTEST_SKIP() << tests::missing(recordings);
  expect_same(recordings, "hta.json");
}

}  // namespace
}  // namespace foreshard::profiler
