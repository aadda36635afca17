// The memory view driven by real keys and mouse.
#include "gui/views/memory/memory_view.hpp"

#include <QSignalSpy>
#include <QtTest>

#include <gtest/gtest.h>

#include "gui/paint/theme.hpp"
#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"
#include "tests/gui/memory/random_memory.hpp"

namespace foreshard::gui {
namespace {

void wait_for(const MemoryView& view) {
  ASSERT_TRUE(QTest::qWaitFor([&] { return !view.is_busy(); }, 30000));
}

TEST(Picture, OfAFile) {
  const QString file = qEnvironmentVariable("PICTURE_OF"), out = qEnvironmentVariable("PICTURE");
  if (file.isEmpty()) GTEST_SKIP();
  if (qEnvironmentVariableIsSet("DARK")) Appearance::instance().set_theme(ThemeName::dark);
  Session session;
  if (file == QStringLiteral("predict")) {
    static const auto machine = *load_machine("h100-sxm");
    Plan plan;
    plan.batch.micro_batch = qEnvironmentVariableIntValue("BATCH");
    const auto job = make_job(*load_llama_config("llama-3.1-8b"), plan, "plan", 8, 1, &machine);
    simulator::PredictionOptions options;
    options.keeps_memory_records = true;
    options.machine = &machine;
    auto run =
        std::make_shared<PredictedRun>(PredictedRun{*job, simulator::predict(*job, options)});
    auto made = std::make_shared<Document>(*make_document(
        simulator::to_trace(*job, run->prediction, "test"), Source::what_if, {}, {}));
    made->run = run;
    session.add(made);
  } else {
    auto document = open_document(file.toStdString());
    ASSERT_TRUE(document) << document.error().text();
    session.add(*document);
  }
  QWidget window;
  window.setAutoFillBackground(true);
  auto* view = new MemoryView(session);
  auto* column = new QVBoxLayout(&window);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(view->strip());
  auto* row = new QHBoxLayout;
  row->setSpacing(0);
  row->addWidget(view, 1);
  view->inspector()->setFixedWidth(320);
  row->addWidget(view->inspector());
  column->addLayout(row, 1);
  window.resize(1600, 932);
  window.show();
  wait_for(*view);
  QTest::qWait(100);
  const QString keys = qEnvironmentVariable("KEYS");
  for (const QChar key : keys) QTest::keyClick(view, key.toLatin1());
  wait_for(*view);
  if (qEnvironmentVariableIsSet("ASK")) {
    QTest::mouseClick(&qobject_cast<MemoryInspector*>(view->inspector())->ask(), Qt::LeftButton);
    wait_for(*view);
  }
  const QString owner = qEnvironmentVariable("ROWS");
  for (const QString& r : owner.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    auto& tree = qobject_cast<MemoryInspector*>(view->inspector())->owners();
    QTest::mouseClick(&tree, Qt::LeftButton, {}, tree.row_centre(r.toInt()));
  }
  QTest::qWait(100);
  window.grab().save(out);
  std::printf("%s\n%s\n", qPrintable(view->as_text()), qPrintable(view->status()));
}

}  // namespace
}  // namespace foreshard::gui
