// The comparison view driven by real keys and mouse.
#include "gui/views/compare/compare_view.hpp"

#include <QtTest>

#include <gtest/gtest.h>

#include "gui/views/base/segmented_control.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/compare/causes_table.hpp"
#include "gui/views/compare/compare_canvas.hpp"
#include "tests/gui/compare/two_runs.hpp"

namespace foreshard::gui {
namespace {

class CompareViewTest : public testing::Test {
 protected:
  CompareViewTest() : view(session) {
    view.resize(1200, 900);
    view.show();
  }

  void open_both() {
    tests::TwoRuns runs = tests::two_runs();
    session.add(
        make_document(std::move(runs.baseline), Source::measured, QStringLiteral("run"), {}));
    session.add(make_document(std::move(runs.candidate), Source::predicted,
                              QStringLiteral("foreseen"), {}));
    wait();
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !view.is_busy(); }, 30000));
    QCoreApplication::processEvents();
  }
  CompareCanvas& canvas() { return *view.findChild<CompareCanvas*>(); }
  CausesTable& causes() { return *view.findChild<CausesTable*>(); }
  const Sentence& sentence() { return qobject_cast<SentenceStrip*>(view.strip())->sentence(); }

  Session session;
  CompareView view;
};

TEST_F(CompareViewTest, SaysHowToOpenASecondTrace) {
  EXPECT_FALSE(view.is_busy());
  session.add(
      make_document(tests::two_runs().baseline, Source::measured, QStringLiteral("run"), {}));
  wait();
  EXPECT_EQ(view.comparison(), nullptr);
  EXPECT_FALSE(view.grab().isNull());
}

TEST_F(CompareViewTest, PutsTheMeasuredOneFirst) {
  tests::TwoRuns runs = tests::two_runs();
  session.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  session.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  wait();
  EXPECT_EQ(compared_documents(session), (ComparedDocuments{1, 0}));
  EXPECT_TRUE(view.comparison()->whole->has_prediction);
}

TEST_F(CompareViewTest, AnswersInWordsAndDrawsAllArrangements) {
  open_both();
  EXPECT_EQ(sentence().lead, view.comparison()->words.lead);
  EXPECT_TRUE(view.status().contains(QStringLiteral("step 3 · rank 0")));
  auto* control = view.strip()->findChild<SegmentedControl*>();
  for (const int key : {Qt::Key_Right, Qt::Key_Right}) {
    QTest::keyClick(control, static_cast<Qt::Key>(key));
    EXPECT_FALSE(view.grab().isNull());
  }
  EXPECT_EQ(canvas().arrangement(), Arrangement::overlay);
}

TEST_F(CompareViewTest, BracketsWalkFromTheWorstDifferenceOn) {
  open_both();
  const std::string worst = causes().current()->name;
  EXPECT_EQ(worst, view.comparison()->causes.front().name);
  QTest::keyClick(&view, Qt::Key_BracketRight);
  EXPECT_EQ(causes().current()->name, view.comparison()->causes[1].name);
  QTest::keyClick(&view, Qt::Key_BracketLeft);
  EXPECT_EQ(causes().current()->name, worst);
}

TEST_F(CompareViewTest, AClickSelectsTheEventForAllViews) {
  open_both();
  const ComparedPair& pair = view.comparison()->step.pairs[3];
  QTest::mouseClick(&canvas(), Qt::LeftButton, {},
                    canvas().centre_of(true, pair.events.candidate).toPoint());
  const EventId expected{1, pair.events.candidate};
  EXPECT_EQ(session.selection().event(), expected);
  EXPECT_EQ(causes().current()->name, pair.name);
}

TEST_F(CompareViewTest, ZoomsPansAndFits) {
  open_both();
  const auto whole = canvas().axis().window();
  QTest::keyClick(&view, Qt::Key_W);
  const auto closer = canvas().axis().window();
  EXPECT_LT(closer.end_ns - closer.start_ns, whole.end_ns - whole.start_ns);
  QTest::keyClick(&view, Qt::Key_D);
  EXPECT_GT(canvas().axis().start_ns(), closer.start_ns);
  QTest::keyClick(&view, Qt::Key_F);
  EXPECT_EQ(canvas().axis().window(), whole);
}

TEST_F(CompareViewTest, AltAndArrowsChooseOtherSteps) {
  open_both();
  QTest::keyClick(&view, Qt::Key_Right, Qt::AltModifier);
  wait();
  EXPECT_EQ(view.comparison()->step.choice, (StepChoice{0, 4, 4}));
}

TEST_F(CompareViewTest, ClosesWhileItComputes) {
  tests::TwoRuns runs = tests::two_runs();
  Session other;
  auto closing = std::make_unique<CompareView>(other);
  closing->show();
  other.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  other.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  EXPECT_TRUE(closing->is_busy());
  closing.reset();
  QTest::qWait(50);
}

TEST_F(CompareViewTest, ComparesSnapshotsRequestByRequest) {
  const std::string sample = FORESHARD_SOURCE_DIR "/traces/samples/snapshot.pickle";
  for (int n = 0; n < 2; ++n) {
    const auto document = open_document(sample);
    ASSERT_TRUE(document) << document.error().text();
    session.add(*document);
  }
  wait();
  EXPECT_EQ(view.comparison(), nullptr);
  EXPECT_EQ(sentence().lead.toStdString(),
            "Both requested exactly the same memory, in the same order.");
  session.close(1);
  wait();
}

}  // namespace
}  // namespace foreshard::gui
