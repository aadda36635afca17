// The comparison's figures are those of `foreshard compare`.
#include <QJsonArray>

#include "gui/models/base/units_text.hpp"
#include "tests/gui/command_line.hpp"
#include "tests/gui/compare/shown_comparison.hpp"

namespace foreshard::gui {
namespace {

class CompareFigures : public ShownComparison {
 protected:
  void open(const QStringList& files) {
    for (const QString& file : files) {
      const auto document = open_document(file.toStdString());
      ASSERT_TRUE(document) << document.error().text();
      session.add(*document);
    }
    wait();
  }
};

TEST_F(CompareFigures, AreThoseOfTheCommandLine) {
  const QString folder = QStringLiteral(FORESHARD_SOURCE_DIR "/gui/resources/example/");
  const QStringList files{folder + QStringLiteral("measured.fst.gz"),
                          folder + QStringLiteral("predicted.fst.gz")};
  const QJsonObject answer = command_answer(QStringList{QStringLiteral("compare")} + files);
  ASSERT_FALSE(answer.isEmpty());
  open(files);
  const std::int64_t measured = json_figure(answer, "measured_step_time_ns");
  const std::int64_t predicted = json_figure(answer, "predicted_step_time_ns");
  const auto time = [](std::int64_t ns) { return time_figure(static_cast<double>(ns)).text(); };
  EXPECT_EQ(sentence().lead,
            QStringLiteral("Predicted %1, measured %2: %3.")
                .arg(time(predicted), time(measured), signed_percent_text(predicted, measured)));
  EXPECT_TRUE(sentence().detail.contains(
      QStringLiteral("%1 of %1 events").arg(json_figure(answer, "events_matched"))));
  EXPECT_EQ(view.comparison()->whole->peak_allocated_error_bytes,
            json_figure(answer, "peak_allocated_error_bytes"));
  const QJsonArray operators = answer[QLatin1String("operators")].toArray();
  ASSERT_GE(operators.size(), 5);
  const QStringList lines = view.as_text().split(QLatin1Char('\n'));
  for (int n = 0; n < 5; ++n) {  // the table's order is the command line's
    const QJsonObject one = operators[n].toObject();
    EXPECT_EQ(causes().model()->index(n, CausesTable::kName).data().toString(),
              one[QLatin1String("name")].toString());
    const TimeScale times = ShownCauses(view.comparison()->causes, true).times;
    EXPECT_EQ(lines
                  .filter(times.text(json_figure(one, "measured_ns")) + QLatin1Char('\t') +
                          times.text(json_figure(one, "predicted_ns")) + QLatin1Char('\t'))
                  .size(),
              1);
  }
}

}  // namespace
}  // namespace foreshard::gui
