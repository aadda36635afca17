// The memory view in a window, with its inspector.
#pragma once

#include <QtTest>

#include <gtest/gtest.h>

#include "gui/paint/theme.hpp"
#include "gui/views/memory/memory_view.hpp"
#include "tests/gui/memory/random_memory.hpp"

namespace foreshard::gui {

inline void wait_for(const MemoryView& view) {
  ASSERT_TRUE(QTest::qWaitFor([&] { return !view.is_busy(); }, 30000));
  QCoreApplication::processEvents();  // lays out what the results changed
}

class ShownMemory : public testing::Test {
 protected:
  ShownMemory() : view(session) {
    Appearance::instance().set_less_motion(true);
    view.resize(1100, 800);
    view.show();
    view.inspector()->resize(320, 800);
    view.inspector()->show();
  }

  ~ShownMemory() override { Appearance::instance().set_less_motion(false); }

  void show(traces::Trace trace, Source source = Source::measured) {
    session.add(make_document(std::move(trace), source, QStringLiteral("run.fst"), {}));
    wait_for(view);
  }
  void show_random() { show(tests::random_memory(2000, 4)); }
  void press(int key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&view, static_cast<Qt::Key>(key), modifiers);
    wait_for(view);
  }
  MemoryInspector& inspector() { return *qobject_cast<MemoryInspector*>(view.inspector()); }
  const Sentence& sentence() { return qobject_cast<SentenceStrip*>(view.strip())->sentence(); }
  const MemoryCurve& curve() { return *view.memory()->curve(); }

  Session session;
  MemoryView view;
};

}  // namespace foreshard::gui
