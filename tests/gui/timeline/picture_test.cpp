// What the timeline draws: pictures of a small scene as they were approved, vectors, tiles that do not
// depend on where the window starts, and frames from tiles that equal those drawn at once.
//
// FORESHARD_UPDATE_GOLDEN=1 in the environment writes the approved pictures anew.
#include <QBuffer>
#include <QSvgGenerator>
#include <random>

#include "gui/views/timeline/frame_tour.hpp"
#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

class TimelinePicture : public ShownTimeline {
 protected:
  TimelinePicture() {
    view_.resize(720, 420);
    settle();
    axis().show({0, us(1000)});
    selection().select(EventId{0, event("matmul", "layers.1")});
    selection().set_range(traces::Interval{us(600), us(750)});
    selection().set_marks({us(250)});
    settle();
  }
  ~TimelinePicture() override { Appearance::instance().set_theme(ThemeName::light); }

  QImage frame(int ratio) {
    QImage image(canvas().viewport()->size() * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    QPainter painter(&image);
    canvas().paint_frame(painter);
    return image;
  }
};

// Share of pixels that differ by more than a little, as fonts are drawn a little differently.
double difference(const QImage& a, const QImage& b) {
  if (a.size() != b.size()) return 1;
  constexpr int kLittle = 24;
  std::int64_t different = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const QColor p(a.pixel(x, y)), q(b.pixel(x, y));
      different += std::abs(p.red() - q.red()) > kLittle ||
                   std::abs(p.green() - q.green()) > kLittle ||
                   std::abs(p.blue() - q.blue()) > kLittle;
    }
  }
  return static_cast<double>(different) / (static_cast<double>(a.width()) * a.height());
}

TEST_F(TimelinePicture, LooksAsApproved) {
  for (const ThemeName name : {ThemeName::light, ThemeName::dark}) {
    Appearance::instance().set_theme(name);
    for (const int ratio : {1, 2}) {
      const QString path =
          QStringLiteral(FORESHARD_SOURCE_DIR "/tests/golden/gui/timeline_%1_%2x.png")
              .arg(name == ThemeName::light ? QStringLiteral("light") : QStringLiteral("dark"))
              .arg(ratio);
      const QImage now = frame(ratio);
      if (qEnvironmentVariableIsSet("FORESHARD_UPDATE_GOLDEN")) {
        now.save(path, nullptr, 0);
      }
      const QImage approved(path);
      ASSERT_FALSE(approved.isNull()) << path.toStdString();
      EXPECT_LT(difference(now, approved), 0.02) << path.toStdString();
    }
  }
}

TEST_F(TimelinePicture, TilesShowWhatShapesShow) {
  viewport()->repaint();
  settle();
  EXPECT_LT(difference(viewport()->grab().toImage(), frame(1)), 0.002);
}

QByteArray drawn_text(TimelineCanvas& canvas) {
  QBuffer buffer;
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(canvas.viewport()->size());
  QPainter painter(&generator);
  canvas.paint_frame(painter);
  painter.end();
  return buffer.data();
}

TEST_F(TimelinePicture, VectorsHoldTheNamesAsText) {
  const QByteArray drawn = drawn_text(canvas());
  for (const char* text : {"forward", "Compute", "Gathered units", "RS"}) {
    EXPECT_TRUE(drawn.contains(text)) << text;
  }
}

TEST_F(TimelinePicture, WhereALongNameDoesNotFitTheShortOneStands) {
  axis().show({0, us(1500)});  // a unit's forward is 72 pixels wide
  settle();
  const QByteArray drawn = drawn_text(canvas());
  EXPECT_FALSE(drawn.contains("layers.0 f"));
  EXPECT_TRUE(drawn.contains(">0<"));
}

TEST_F(TimelinePicture, NamesStandOverTheCursor) {
  selection().clear();
  selection().set_marks({});
  settle();
  const QImage without = frame(1);
  const QRect box =
      canvas().event_box({0, event("matmul", "layers.1")}).toAlignedRect().adjusted(4, 4, -4, -4);
  const QRgb ground = without.pixel(box.left(), box.top());
  const auto letters = [&](const QImage& image, int x) {
    std::vector<int> found;
    for (int y = box.top(); y <= box.bottom(); ++y) {
      if (std::abs(qGray(image.pixel(x, y)) - qGray(ground)) > 60) found.push_back(y);
    }
    return found;
  };
  int most = box.left();
  for (int x = box.left(); x <= box.right(); ++x) {
    if (letters(without, x).size() > letters(without, most).size()) most = x;
  }
  const std::vector<int> rows = letters(without, most);
  ASSERT_GT(rows.size(), 3u);
  selection().set_cursor(axis().ns_at(most - header_width()));
  const QImage with = frame(1);
  EXPECT_NE(with.pixel(most, box.top()), ground);  // the line
  for (const int y : rows) {
    EXPECT_NEAR(qGray(with.pixel(most, y)), qGray(without.pixel(most, y)), 40) << y;
  }
}

TEST_F(TimelinePicture, WithoutLanesASentenceSaysWhy) {
  traces::Trace memory_alone = small_run();
  memory_alone.events.clear();
  auto document = std::make_shared<Document>(*make_document(
      std::move(memory_alone), Source::measured, QStringLiteral("memory.pickle"), {}));
  document->kind = traces::RecordingKind::snapshot;
  session_.close(0);
  session_.add(document);
  settle();
  EXPECT_TRUE(drawn_text(canvas()).contains("A snapshot has no kernels."));
  EXPECT_GT(canvas().rows_box().height(), 40);
}

TEST_F(TimelinePicture, WhatAStoppedRunLacksIsHatchedInTheMinimapToo) {
  session_.close(0);
  session_.add(make_document(small_run(), Source::measured, QStringLiteral("run.fst"), {}));
  settle();
  const QImage whole = frame(1);
  traces::Trace stopped = small_run();
  stopped.complete = false;
  stopped.complete_until_ns = us(1500);
  session_.replace(0,
                   make_document(std::move(stopped), Source::measured, QStringLiteral("run"), {}));
  settle();
  const QImage cut = frame(1);
  const QRect map = canvas().minimap_box().toRect();
  const int edge = static_cast<int>(header_width()) +
                   (map.width() - static_cast<int>(header_width())) * 1500 / 1900;
  const QRect before(static_cast<int>(header_width()), map.top(),
                     edge - static_cast<int>(header_width()) - 4, map.height());
  const QRect after(edge + 4, map.top(), map.right() - edge - 4, map.height());
  EXPECT_EQ(whole.copy(before), cut.copy(before));
  EXPECT_NE(whole.copy(after), cut.copy(after));
}

TEST_F(TimelinePicture, ATourOfFramesLeavesTheWindowWhereItWas) {
  const traces::Interval before = axis().window();
  const FrameTimes times = tour_frames(view_, axis());
  EXPECT_EQ(times.milliseconds.size(), 240u);
  EXPECT_LE(times.at(0.5), times.at(0.99));
  EXPECT_LE(times.at(0.99), times.at(1));
  EXPECT_EQ(axis().window(), before);
}

// Many short events at random, so that columns and boxes of every width meet tile edges.
traces::Trace dense_run() {
  traces::Trace trace = small_run();
  trace.events.clear();
  std::mt19937 random(7);
  std::int64_t at = 0;
  const traces::StringId names[] = {trace.strings.intern("matmul"), trace.strings.intern("norm"),
                                    trace.strings.intern("attention")};
  while (at < us(1000)) {
    traces::Event event;
    event.lane = 1;
    event.kind = traces::EventKind::compute;
    event.name = names[random() % 3];
    event.phase = trace.strings.intern("forward");
    event.unit = trace.strings.intern("layers.0");
    event.step = 1;
    event.start_ns = at += static_cast<std::int64_t>(random() % 400);
    event.end_ns = at +=
        static_cast<std::int64_t>(20 + random() % (random() % 8 == 0 ? 4000 : 300));
    trace.events.push_back(event);
  }
  sort(trace);
  return trace;
}

TEST(TimelineTiles, APixelShowsTheSameWhereverTheWindowStarts) {
  SceneContent content;
  content.parts.push_back({make_document(dense_run(), Source::measured, {}, {}), false});
  content.current = 0;
  RowId row;
  const auto& rows = content.parts[0].document->lanes->rows();
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (rows[n].kind == RowKind::compute) row.index = n;
  }
  for (const double scale : {37.0, 150.0, 903.5}) {
    PixelGrid grid;
    grid.ns_per_pixel = scale;
    const auto painted = [&](std::int64_t first, int width) {
      const LaneShapes shapes =
          content.shapes(row, {grid.ns(first), grid.ns(first + width)}, scale, theme());
      return paint_tile(shapes, grid, first, width, content.height_of(row), theme()).image;
    };
    const int whole = 700;
    const QImage reference = painted(0, whole);
    for (const int first : {1, 17, 256, 333}) {
      EXPECT_EQ(painted(first, 300), reference.copy(first, 0, 300, reference.height()))
          << scale << " from " << first;
    }
  }
}

}  // namespace
}  // namespace foreshard::gui
