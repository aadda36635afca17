// Pictures and timings without anybody at the window.

#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSet>

#include "gui/views/shell/unattended.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

using Picture = ShellTest;

int colours_in(const QImage& image) {
  QSet<QRgb> colours;
  for (int y = 0; y < image.height(); y += 3) {
    for (int x = 0; x < image.width(); x += 3) colours.insert(image.pixel(x, y));
  }
  return static_cast<int>(colours.size());
}

TEST_F(Picture, EveryViewIsDrawnAsPixelsAndAsShapes) {
  const std::string run = write_trace("run.fst");
  for (int view = kTimelineView; view <= kCompareView; ++view) {
    for (const ThemeName theme : {ThemeName::light, ThemeName::dark}) {
      Appearance::instance().set_theme(theme);
      ViewerOptions options;
      options.files = {run};
      options.view = view;
      options.size = {1280, 800};
      options.picture = folder_.path("picture.png");
      MainWindow window;
      const auto done = run_unattended(window, options);
      ASSERT_TRUE(done) << done.error().text();
      const QImage image(QString::fromStdString(options.picture));
      EXPECT_EQ(image.size(), QSize(1280, 800));
      EXPECT_GT(colours_in(image), 8) << view;
      const std::string svg = folder_.path("picture.svg");
      const auto written = write_picture(window, svg);
      ASSERT_TRUE(written) << written.error().text();
      EXPECT_NE(tests::read_file(svg).find("<svg"), std::string::npos);
    }
  }
  Appearance::instance().set_theme(ThemeName::light);
}

TEST_F(Picture, NoSizeIsTooSmall) {
  ViewerOptions options;
  options.size = {300, 200};
  options.picture = folder_.path("small.png");
  MainWindow window;
  ASSERT_TRUE(run_unattended(window, options));
  EXPECT_EQ(QImage(QString::fromStdString(options.picture)).size(), QSize(300, 200));
}

TEST_F(Picture, AFileThatCannotBeReadIsTheError) {
  ViewerOptions options;
  options.files = {folder_.path("absent.fst")};
  options.picture = folder_.path("none.png");
  MainWindow window;
  const auto done = run_unattended(window, options);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text().find("absent.fst"), std::string::npos);
}

TEST_F(Picture, AFolderThatIsNotThereIsTheError) {
  ViewerOptions options;
  options.picture = folder_.path("absent/picture.png");
  MainWindow window;
  const auto done = run_unattended(window, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().file, options.picture);
}

TEST_F(Picture, TimingsHaveEveryFigure) {
  ViewerOptions options;
  options.files = {write_trace("run.fst")};
  options.timings = folder_.path("timings.json");
  MainWindow window;
  const auto done = run_unattended(window, options);
  ASSERT_TRUE(done) << done.error().text();
  const QJsonObject timings =
      QJsonDocument::fromJson(QByteArray::fromStdString(tests::read_file(options.timings)))
          .object();
  for (const char* key : {"events", "open_ms", "first_paint_ms", "frame_ms_median", "frame_ms_p95",
                          "frame_ms_p99", "frame_ms_worst", "resident_bytes"}) {
    EXPECT_GT(timings.value(QLatin1String(key)).toDouble(), 0) << key;
  }
}

}  // namespace
}  // namespace foreshard::gui
