// The memory view's figures are those of `foreshard inspect` and `foreshard replay`.
#include <QJsonArray>

#include "gui/models/base/units_text.hpp"
#include "tests/gui/command_line.hpp"
#include "tests/gui/memory/shown_memory.hpp"

namespace foreshard::gui {
namespace {

class MemoryFigures : public ShownMemory {
 protected:
  void open(const QString& file) {
    const auto document = open_document(file.toStdString());
    ASSERT_TRUE(document) << document.error().text();
    session.add(*document);
    wait_for(view);
  }
  void expect_shown(std::int64_t bytes, const char* what) {
    EXPECT_TRUE(view.as_text().contains(bytes_figure(bytes).text())) << what << " " << bytes;
  }
};

TEST_F(MemoryFigures, AtThePeakAreThoseOfInspect) {
  const QString file = sample_path("run.fst.gz");
  const QJsonObject rank = command_answer({QStringLiteral("inspect"), file})
                               .value(QLatin1String("ranks"))
                               .toArray()[0]
                               .toObject();
  const QJsonObject peak = rank[QLatin1String("peak")].toObject();
  ASSERT_FALSE(peak.isEmpty());
  open(file);
  press(Qt::Key_K);
  EXPECT_EQ(curve().allocated(curve().peak()), json_figure(rank, "peak_allocated_bytes"));
  EXPECT_EQ(curve().peak_reserved(), json_figure(rank, "peak_reserved_bytes"));
  expect_shown(json_figure(rank, "peak_allocated_bytes"), "allocated");
  expect_shown(json_figure(rank, "peak_reserved_bytes"), "reserved");
  EXPECT_EQ(view.memory()->moment(curve().peak()).moment.reserved,
            json_figure(peak, "reserved_bytes"));
  EXPECT_TRUE(view.as_text().contains(peak[QLatin1String("phase")].toString()));
  const QJsonObject categories = peak[QLatin1String("by_category_bytes")].toObject();
  EXPECT_GE(categories.size(), 4);
  for (const QString& category : categories.keys()) {
    expect_shown(categories[category].toInteger(), qPrintable(category));
  }
}

class ReplayedFigures : public MemoryFigures, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Recordings, ReplayedFigures,
                         testing::Values("snapshot.pickle", "history.jsonl.gz"));

TEST_P(ReplayedFigures, OfChangedSettingsAreThoseOfReplay) {
  const QString file = sample_path(GetParam());
  const QJsonObject replay = command_answer({QStringLiteral("replay"), file});
  ASSERT_FALSE(replay.isEmpty());
  open(file);
  EXPECT_EQ(view.canvas().plot().capacity, json_figure(replay, "capacity_bytes"));
  const MemoryChanges& found = view.changes().changes();
  EXPECT_EQ(found.present.peak_reserved, json_figure(replay, "peak_reserved_bytes"));
  EXPECT_EQ(found.present.fits, replay[QLatin1String("fits")].toBool());
  const QJsonArray what_ifs = replay[QLatin1String("what_if")].toArray();
  ASSERT_EQ(static_cast<std::size_t>(what_ifs.size()), found.changes.size());
  for (const auto& value : what_ifs) {
    const QJsonObject what_if = value.toObject();
    const auto change =
        std::find_if(found.changes.begin(), found.changes.end(), [&](const MemoryChange& each) {
          return each.change == what_if[QLatin1String("change")].toString();
        });
    ASSERT_NE(change, found.changes.end());
    EXPECT_EQ(change->peak_reserved, json_figure(what_if, "peak_reserved_bytes"));
    EXPECT_EQ(change->fits, what_if[QLatin1String("fits")].toBool());
  }
}

}  // namespace
}  // namespace foreshard::gui
