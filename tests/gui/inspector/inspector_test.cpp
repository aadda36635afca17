// The inspector in a window: which page it shows, that its figures are those of the analysis and the
// trace, and that links, twins and buttons lead on.
#include "gui/views/inspector/inspector.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "gui/models/base/units_text.hpp"
#include "tests/gui/inspector/recording.hpp"

namespace foreshard::gui {
namespace {

QPushButton& button(const QWidget& panel, const char* text) {
  for (QPushButton* one : panel.findChildren<QPushButton*>()) {
    if (one->text() == QString::fromLatin1(text)) return *one;
  }
  throw std::runtime_error(std::string("there is no button ") + text);
}

QString told(const char* latin1) {
  return QString::fromLatin1(latin1);
}

class InspectorTest : public testing::Test {
 protected:
  InspectorTest() : inspector_(session_) {
    session_.add(recording());
    inspector_.resize(320, 860);
    inspector_.show();
  }

  const traces::Trace& trace() const { return *session_.current()->trace; }
  // Of rank 0's last step, on its device.
  EventIndex event_of(const std::string& name) const {
    EventIndex found = -1;
    for (std::size_t n = 0; n < trace().events.size(); ++n) {
      const traces::Event& one = trace().events[n];
      const traces::Lane& lane = trace().lanes[static_cast<std::size_t>(one.lane)];
      if (lane.rank == 0 && lane.device && trace().strings[one.name] == name) {
        found = static_cast<EventIndex>(n);
      }
    }
    return found;
  }
  void select(const std::string& name) {
    session_.selection().select(EventId{0, event_of(name)});
    ASSERT_TRUE(finishes(inspector_));
  }

  const PanelContent& event_shown() const { return inspector_.event_panel().content(); }

  Session session_;
  Inspector inspector_;
};

TEST_F(InspectorTest, ShowsTheStepWhileNothingIsSelected) {
  EXPECT_EQ(inspector_.currentWidget(), &inspector_.step_panel());
  const profiler::StepAnalysis& step = session_.current()->analysis->ranks[0].steps.back();
  EXPECT_EQ(inspector_.step_panel().head().headline().figure.text(),
            time_figure(static_cast<double>(step.duration_ns)).text());
}

TEST_F(InspectorTest, StepsTimesAddUpToTheSpan) {
  const PanelContent summary = step_content(*session_.current(), 0);
  double sum = 0;
  for (const Share& share : summary.sections[0].shares) sum += share.amount;
  const profiler::StepAnalysis& step = session_.current()->analysis->ranks[0].steps.back();
  EXPECT_DOUBLE_EQ(sum, static_cast<double>(step.time.span_ns));
  EXPECT_FALSE(summary.section(told("Critical path")).facts.empty());
  EXPECT_FALSE(summary.sections[2].text.isEmpty());
}

TEST_F(InspectorTest, StepIsThatOfTheChosenRank) {
  session_.selection().set_rank(1);
  EXPECT_EQ(inspector_.step_panel().head().headline().rank, 1);
}

TEST_F(InspectorTest, ShowsTheSelectedEvent) {
  select("reduce_scatter");
  EXPECT_EQ(inspector_.currentWidget(), &inspector_.event_panel());
  const PanelContent& content = event_shown();
  const traces::Event& event = trace().events[static_cast<std::size_t>(event_of("reduce_scatter"))];
  EXPECT_EQ(content.headline.title, QStringLiteral("reduce_scatter"));
  EXPECT_EQ(content.headline.figure.text(),
            time_figure(static_cast<double>(event.end_ns - event.start_ns)).text());
  EXPECT_EQ(content.section(told("Key")).text.toStdString(), trace().strings[event.stable_key]);
  EXPECT_FALSE(content.section(told("Before and after")).facts.empty());
}

TEST_F(InspectorTest, SaysWhereAPredictedTimeComesFromWithItsBand) {
  const auto bar = [&] { return inspector_.event_panel().findChild<BandBar*>(); };
  select("reduce_scatter");
  EXPECT_FALSE(bar()->isVisible()) << "of a measured event";
  EXPECT_TRUE(event_shown().section(told("Cost")).is_empty());
  traces::Trace predicted = trace();
  predicted.events.update_all([](traces::Event& event) {
    event.cost_source = CostSource::fitted;
    event.cost_error = 0.1F;
  });
  session_.replace(0, make_document(std::move(predicted), Source::predicted, {}, {}));
  select("reduce_scatter");
  EXPECT_TRUE(bar()->isVisible());
  const EventContent content = event_content(*session_.current(), 0, event_of("reduce_scatter"));
  ASSERT_TRUE(content.band);
  EXPECT_NEAR(content.band->high_ns, 1.165 * content.band->value_ns, 1);
  EXPECT_EQ(event_shown().section(told("Cost")).note, QStringLiteral("fitted"));
  const QString cost = event_shown().section(told("Cost")).text;
  EXPECT_FALSE(cost.isEmpty());
  EXPECT_TRUE(inspector_.event_panel().as_text().contains(cost));
}

TEST_F(InspectorTest, SaysWhatRecordingTookWhereTheRecorderKnows) {
  const auto says_so = [](const Document& document) {
    const std::vector<Fact> facts = step_content(document, 0).section(told("Recording")).facts;
    return std::any_of(facts.begin(), facts.end(), [](const Fact& fact) {
      return fact.label == QStringLiteral("Recorder overhead");
    });
  };
  EXPECT_TRUE(says_so(*session_.current()));
  EXPECT_FALSE(says_so(*recording("drawn_gpu")));
}

TEST_F(InspectorTest, TwinsAreAllOfTheOperatorInTheStep) {
  select("reduce_scatter");
  const EventContent content = event_content(*session_.current(), 0, event_of("reduce_scatter"));
  const traces::Event& selected =
      trace().events[static_cast<std::size_t>(event_of("reduce_scatter"))];
  std::size_t like = 0;
  for (const traces::Event& one : trace().events) {
    like += one.lane == selected.lane && one.step == selected.step && one.name == selected.name;
  }
  EXPECT_EQ(content.twins.size(), like);
  EXPECT_EQ(content.twins[static_cast<std::size_t>(content.current_twin)].event,
            *session_.selection().event());
}

TEST_F(InspectorTest, LinksAndTwinsLeadToTheirEvents) {
  select("reduce_scatter");
  const EventContent before = event_content(*session_.current(), 0, event_of("reduce_scatter"));
  FactList* links = nullptr;
  for (auto* list : inspector_.event_panel().findChildren<FactList*>()) {
    if (list->accessibleName() == told("Before and after")) links = list;
  }
  ASSERT_NE(links, nullptr);
  QTest::mouseClick(links, Qt::LeftButton, {}, links->row_centre(0));
  EXPECT_EQ(session_.selection().event(), std::get<EventId>(links->facts()[0].leads_to));
  ASSERT_TRUE(finishes(inspector_));

  select("reduce_scatter");
  auto* const twins = inspector_.event_panel().findChild<TwinStrip*>();
  ASSERT_GT(before.twins.size(), 1U);
  const int other = before.current_twin == 0 ? 1 : before.current_twin - 1;
  QTest::mouseClick(twins, Qt::LeftButton, {}, twins->bar(other).center().toPoint());
  EXPECT_EQ(*session_.selection().event(), before.twins[static_cast<std::size_t>(other)].event);
}

TEST_F(InspectorTest, ButtonsZoomMarkAndCopy) {
  select("all_gather");
  const traces::Event& event = trace().events[static_cast<std::size_t>(event_of("all_gather"))];
  SidePanel& panel = inspector_.event_panel();
  QTest::mouseClick(&button(panel, "Mark  M"), Qt::LeftButton);
  EXPECT_EQ(session_.selection().marks(), std::vector<std::int64_t>{event.start_ns});
  session_.axis().set_width(1000);
  QTest::mouseClick(&button(panel, "Zoom to it  F"), Qt::LeftButton);
  EXPECT_NEAR(static_cast<double>(session_.axis().start_ns()), static_cast<double>(event.start_ns),
              1000);
  QTest::mouseClick(&button(panel, "Copy as text"), Qt::LeftButton);
  EXPECT_TRUE(QGuiApplication::clipboard()->text().contains(QStringLiteral("all_gather")));
}

TEST_F(InspectorTest, WhatWasSetLastIsShown) {
  const traces::Interval step = session_.steady_step();
  select("reduce_scatter");
  session_.selection().set_range(step);
  EXPECT_EQ(inspector_.currentWidget(), &inspector_.range_panel());
  select("all_gather");
  EXPECT_EQ(inspector_.currentWidget(), &inspector_.event_panel());
  session_.selection().select(std::nullopt);
  EXPECT_EQ(inspector_.currentWidget(), &inspector_.range_panel());
  session_.selection().clear();
  EXPECT_EQ(inspector_.currentWidget(), &inspector_.step_panel());
}

TEST_F(InspectorTest, RangesAndStepsTellOfWhatWasLostInThem) {
  const traces::Step step = trace().steps.front();
  const std::int64_t at = (step.start_ns + step.end_ns) / 2;
  traces::Trace lossy = trace();
  lossy.dropped_ranges = {{step.rank, false, at, at + 1000, 7}};
  const auto document =
      make_document(std::move(lossy), Source::measured, QStringLiteral("run.fst"), {});
  const auto tells = [](const QString& text) {
    return text.contains(QStringLiteral("At least 7 records were dropped"));
  };
  EXPECT_TRUE(tells(step_content(*document, step.rank).sections[2].text));
  session_.replace(0, document);
  session_.selection().set_rank(step.rank);
  const auto told_of = [&](traces::Interval range) {
    session_.selection().set_range(range);
    EXPECT_TRUE(finishes(inspector_));
    return tells(inspector_.range_panel().as_text());
  };
  EXPECT_TRUE(told_of({at - 10, at + 10}));
  EXPECT_FALSE(told_of({step.start_ns, at - 10}));
}

TEST_F(InspectorTest, RangeOfAStepHasTheStepsLength) {
  session_.selection().set_range(session_.steady_step());
  ASSERT_TRUE(finishes(inspector_));
  const Headline& headline = inspector_.range_panel().head().headline();
  const traces::Interval step = session_.steady_step();
  EXPECT_EQ(headline.figure.text(),
            time_figure(static_cast<double>(step.end_ns - step.start_ns)).text());
  EXPECT_TRUE(inspector_.as_text().contains(QStringLiteral("Compute")));
}

TEST_F(InspectorTest, ClosedDocumentsLeaveNothingBehind) {
  select("all_gather");
  session_.close(0);
  EXPECT_EQ(inspector_.currentWidget(), &inspector_.step_panel());
}

TEST(InspectorClosing, DuringItsWorkIsClean) {
  Session session;
  session.add(recording());
  for (int n = 0; n < 20; ++n) {
    Inspector inspector(session);
    session.selection().set_range(traces::Interval{n, 1'000'000'000});
    session.selection().select(EventId{0, n});
  }
}

TEST(InspectorDocuments, OthersRecordingsHaveASummaryToo) {
  for (const char* name :
       {"drawn_gpu.sqlite", "pytorch_cpu", "snapshot.pickle", "out_of_memory.fst.gz"}) {
    Session session;
    session.add(recording(name));
    Inspector inspector(session);
    inspector.resize(320, 860);
    EXPECT_FALSE(inspector.grab().isNull()) << name;
    EXPECT_FALSE(inspector.as_text().isEmpty()) << name;
    for (EventIndex event = 0; event < 20 && !session.current()->trace->events.empty(); ++event) {
      session.selection().select(EventId{0, event});
    }
    EXPECT_TRUE(finishes(inspector));
  }
}

TEST(InspectorDocuments, WithoutADeviceHaveNoTimeOfOne) {
  const auto time_of = [](const char* name) {
    return step_content(*recording(name), 0).sections[1].facts;
  };
  const PanelContent snapshot = step_content(*recording("snapshot.pickle"), 0);
  EXPECT_TRUE(time_of("snapshot.pickle").empty());
  EXPECT_TRUE(snapshot.headline.figure.number.isEmpty());
  EXPECT_FALSE(snapshot.section(told("Memory at its peak")).facts.empty());
  EXPECT_FALSE(time_of("drawn_gpu").empty());
  const auto of_cpu = step_content(*recording("pytorch_cpu"), 0)
                          .section(told("Costliest operators, all steps"))
                          .facts;
  ASSERT_GT(of_cpu.size(), 2u);
  EXPECT_TRUE(
      std::ranges::is_sorted(of_cpu, std::greater{}, [](const Fact& fact) { return fact.bar; }));
}

// Copies into and out of collectives run in forward and in backward: two rows of one name say which.
TEST(InspectorRange, OperatorsOfOneNameSayTheirPhase) {
  traces::Trace trace;
  trace.lanes = {{0, true, trace.strings.intern("compute")}};
  for (const char* phase : {"forward", "backward", "forward", "forward"}) {
    traces::Event event;
    event.kind = traces::EventKind::compute;
    const auto n = static_cast<std::int64_t>(trace.events.size());
    event.name = trace.strings.intern(n == 3 ? "matmul" : "all_gather_copy_out");
    event.phase = trace.strings.intern(phase);
    event.start_ns = 1000 * n;
    event.end_ns = 1000 * n + 900;
    trace.events.push_back(event);
  }
  const auto document = make_document(std::move(trace), Source::measured, told("run"), {});
  const RangeStatistics statistics = range_statistics(*document->lanes, 0, {0, 4000});
  const PanelContent content = range_content(*document, statistics, MemoryCurve());
  QStringList labels;
  for (const Fact& fact : content.section(told("Operators")).facts) labels << fact.label;
  labels.sort();
  EXPECT_EQ(labels, (QStringList{QStringLiteral("all_gather_copy_out · backward"),
                                 QStringLiteral("all_gather_copy_out · forward"), told("matmul")}));
}

TEST(InspectorRanks, TheRankIsChosenInTheHeadOrByKeys) {
  Session session;
  session.add(recording());
  Inspector inspector(session);
  inspector.resize(inspector.sizeHint());
  inspector.show();
  const auto head = [&] { return inspector.currentWidget()->findChild<PanelHead*>(); };
  ASSERT_EQ(head()->headline().rank, 0);
  QTest::mouseClick(head(), Qt::LeftButton, {}, head()->rank_box().center().toPoint());
  auto* menu = inspector.findChild<QMenu*>();
  ASSERT_NE(menu, nullptr);
  ASSERT_EQ(menu->actions().size(), std::ssize(session.current()->analysis->ranks));
  EXPECT_TRUE(menu->actions().front()->isChecked());
  menu->actions().at(1)->trigger();
  EXPECT_EQ(session.selection().rank(), 1);
  EXPECT_EQ(head()->headline().rank, 1);
  session.show_next_rank(1);  // from the last one
  EXPECT_EQ(session.selection().rank(), 0);
  session.show_next_rank(-1);
  EXPECT_EQ(session.selection().rank(), 1);
}

}  // namespace
}  // namespace foreshard::gui
