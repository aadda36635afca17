// What is told of an event: of a recording, of drawn events and of a prediction.
#include "gui/models/timeline/card.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "simulator/predict/prediction.hpp"
#include "tests/gui/timeline_models/random_events.hpp"
#include "tests/gui/timeline_models/recorded_run.hpp"
#include "traces/intervals.hpp"

namespace foreshard::gui {
namespace {

QString fact(const Card& card, const char* label) {
  for (const CardFact& one : card.facts) {
    if (one.label == QLatin1String(label)) return one.value;
  }
  return {};
}

TEST(Card, OfEveryEventHasItsNameItsDurationAndItsKey) {
  const auto trace = tests::recorded_run();
  ASSERT_NE(trace, nullptr);
  const LaneSet lanes(trace);
  for (std::size_t n = 0; n < trace->events.size(); n += 3) {
    const Card card = card_of(lanes, static_cast<EventIndex>(n), true);
    EXPECT_EQ(card.name.toStdString(), trace->strings[trace->events[n].name]);
    EXPECT_FALSE(card.duration.isEmpty());
    EXPECT_TRUE(card.text().contains(card.name));
    for (const CardLink& link : card.links) EXPECT_NE(link.event, static_cast<EventIndex>(n));
  }
}

TEST(Card, HiddenAndExposedOfACollectiveAddUpToItsDuration) {
  const LaneSet lanes(tests::random_events(1, 100, 8));
  const traces::Trace& trace = lanes.trace();
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    const traces::Event& event = trace.events[n];
    if (event.kind != traces::EventKind::communication || event.end_ns - event.start_ns < 1000) {
      continue;
    }
    std::vector<traces::Interval> kernels;
    for (const traces::Event& other : trace.events) {
      if (other.kind != traces::EventKind::compute) continue;
      const traces::Interval both{std::max(other.start_ns, event.start_ns),
                                  std::min(other.end_ns, event.end_ns)};
      if (both.start_ns < both.end_ns) kernels.push_back(both);
    }
    const bool is_exposed = traces::length(traces::united(kernels)) < event.end_ns - event.start_ns;
    const Card card = card_of(lanes, static_cast<EventIndex>(n), false);
    const bool says_so =
        std::any_of(card.facts.begin(), card.facts.end(),
                    [](const CardFact& fact) { return fact.label == QStringLiteral("Exposed"); });
    EXPECT_EQ(says_so, is_exposed);
  }
}

TEST(Card, RatesAreRelativeToWhatTheDeviceCanDo) {
  traces::Trace trace = *tests::random_events(1, 3, 8);
  traces::Event product;
  product.lane = 1;
  product.kind = traces::EventKind::compute;
  product.cost_key = trace.strings.intern("matmul bf16 4096 4096 4096 0");  // 137.4 GFLOP
  product.end_ns = 300'000;
  traces::Event sum = product;
  sum.cost_key = trace.strings.intern("add bf16 1048576");
  sum.end_ns = 100;
  trace.events = {product, sum};
  trace.metadata["data_sheet"] = load_machine("h100-sxm")->name;
  const LaneSet lanes(std::make_shared<const traces::Trace>(trace));
  const Card arithmetic = card_of(lanes, 0, false);
  EXPECT_EQ(fact(arithmetic, "FLOPs"), QStringLiteral("137.4 GFLOP"));
  EXPECT_EQ(fact(arithmetic, "Achieved"), QStringLiteral("458.1 TFLOP/s, 46 % of peak"));
  EXPECT_EQ(fact(arithmetic, "Bound by"), QStringLiteral("arithmetic"));
  const Card moves = card_of(lanes, 1, false);
  EXPECT_EQ(fact(moves, "Bound by"), QStringLiteral("memory"));
  EXPECT_TRUE(fact(moves, "Memory rate").endsWith(QStringLiteral("above the data sheet's")))
      << qPrintable(fact(moves, "Memory rate"));

  product.lane = 0;
  product.kind = traces::EventKind::host;  // which launches it
  trace.events = {product};
  const LaneSet launches(std::make_shared<const traces::Trace>(trace));
  for (const char* label : {"FLOPs", "Achieved", "Memory rate", "Bound by"}) {
    EXPECT_EQ(fact(card_of(launches, 0, false), label), QString()) << label;
  }
  product.lane = 1;
  product.kind = traces::EventKind::compute;
  trace.events = {product};
  trace.metadata["device.0"] = "Some device";  // that the catalogue lacks
  const LaneSet unknown(std::make_shared<const traces::Trace>(trace));
  EXPECT_EQ(fact(card_of(unknown, 0, false), "Achieved"), QStringLiteral("458.1 TFLOP/s"));
}

TEST(Card, BusBandwidthIsRelativeToTheLinkOfTheNode) {
  traces::Trace trace = *tests::random_events(1, 3, 8);
  traces::Event gather;
  gather.lane = 1;
  gather.kind = traces::EventKind::communication;
  gather.name = trace.strings.intern("all_gather");
  gather.cost_key = trace.strings.intern("all_gather fp32 900000000 8");
  gather.end_ns = 3'500'000;  // 7/8 of 900 MB: 225 GB/s
  trace.events = {gather};
  trace.metadata["data_sheet"] = load_machine("h100-sxm")->name;  // 450 GB/s
  const auto bandwidth = [&](const char* ranks) {
    trace.metadata["ranks"] = ranks;
    const LaneSet lanes(std::make_shared<const traces::Trace>(trace));
    return fact(card_of(lanes, 0, false), "Bus bandwidth");
  };
  EXPECT_EQ(bandwidth("8"), QStringLiteral("225.0 GB/s, 50 % of peak"));
  EXPECT_EQ(bandwidth("16"), QStringLiteral("225.0 GB/s")) << "groups may reach over the network";
  trace.metadata.erase("data_sheet");
  EXPECT_EQ(bandwidth("8"), QStringLiteral("225.0 GB/s"));
}

TEST(Card, SaysWhereAPredictedTimeComesFromAndHowSureItIs) {
  traces::Trace trace = *tests::random_events(1, 3, 8);
  ASSERT_GE(trace.events.size(), 3u);
  trace.events.update_all([](traces::Event& event) {
    event.end_ns = event.start_ns + 1000;
    event.cost_source = CostSource::none;
  });
  trace.events.update(1, [](traces::Event& event) {
    event.cost_source = CostSource::fitted;
    event.cost_error = 0.1F;  // 1.65 of it: 16.5 %
  });
  trace.events.update(2, [](traces::Event& event) { event.cost_source = CostSource::modelled; });
  const LaneSet lanes(std::make_shared<const traces::Trace>(std::move(trace)));
  EXPECT_TRUE(card_of(lanes, 0, false).cost.isEmpty());
  const Card fitted = card_of(lanes, 1, false);
  EXPECT_EQ(fitted.cost_source, QStringLiteral("fitted"));
  ASSERT_TRUE(fitted.band);
  EXPECT_EQ(fitted.band->start_ns, 835);
  EXPECT_EQ(fitted.band->end_ns, 1165);
  EXPECT_TRUE(fitted.text().contains(QStringLiteral("90 %: 835 ns – 1.165 us")))
      << qPrintable(fitted.text());
  const Card modelled = card_of(lanes, 2, false);
  EXPECT_EQ(modelled.cost_source, QStringLiteral("modelled"));
  EXPECT_FALSE(modelled.band);
}

// Llama 3.1 8B on eight H100: nothing that is predicted beats the data sheet that it is predicted from.
TEST(Card, OfAPredictionTellsRatesThatTheDeviceCanReach) {
  const Machine machine = *load_machine("h100-sxm");
  const auto job = make_job(*load_llama_config("llama-3.1-8b"), Plan(), "test", 8);
  ASSERT_TRUE(job) << job.error().text();
  simulator::PredictionOptions options;
  options.machine = &machine;
  options.keeps_memory_records = true;
  const auto trace = std::make_shared<const traces::Trace>(
      simulator::to_trace(*job, simulator::predict(*job, options), "test"));
  const LaneSet lanes(trace);
  int collectives = 0, kernels = 0;
  for (std::size_t n = 0; n < trace->events.size(); n += 5) {
    const traces::Event& event = trace->events[n];
    if (!traces::is_device_work(event.kind) || event.cost_key == 0) continue;
    const Card card = card_of(lanes, static_cast<EventIndex>(n), false);
    EXPECT_EQ(card.cost_source, QStringLiteral("modelled")) << qPrintable(card.text());
    EXPECT_FALSE(card.text().contains(QStringLiteral("above"))) << qPrintable(card.text());
    EXPECT_FALSE(card.place.isEmpty());
    if (event.kind == traces::EventKind::communication) {
      ++collectives;
      EXPECT_FALSE(fact(card, "Bus bandwidth").isEmpty()) << qPrintable(card.text());
    } else if (event.kind == traces::EventKind::compute) {
      ++kernels;
      EXPECT_FALSE(fact(card, "Bytes").isEmpty()) << qPrintable(card.text());
      EXPECT_FALSE(fact(card, "Bound by").isEmpty()) << qPrintable(card.text());
    }
  }
  EXPECT_GT(collectives, 10);
  EXPECT_GT(kernels, 100);
}

}  // namespace
}  // namespace foreshard::gui
