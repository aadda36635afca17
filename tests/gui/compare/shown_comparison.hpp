// The comparison view in a window, of two small runs.
#pragma once

#include <QtTest>

#include <gtest/gtest.h>

#include "gui/paint/theme.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/compare/causes_table.hpp"
#include "gui/views/compare/compare_canvas.hpp"
#include "gui/views/compare/compare_view.hpp"
#include "tests/gui/compare/two_runs.hpp"

namespace foreshard::gui {

class ShownComparison : public testing::Test {
 protected:
  ShownComparison() : view(session) {
    Appearance::instance().set_less_motion(true);
    view.resize(1200, 900);
    view.show();
  }

  ~ShownComparison() override { Appearance::instance().set_less_motion(false); }

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

}  // namespace foreshard::gui
