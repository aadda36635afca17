#include "gui/views/shell/unattended.hpp"

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QTimer>
#include <cstdio>
#include <fstream>
#include <optional>

#include <unistd.h>

#include "gui/views/shell/main_window.hpp"
#include "gui/views/timeline/frame_tour.hpp"

namespace foreshard::gui {
namespace {

QString ending(const std::string& path) {
  return QFileInfo(QString::fromStdString(path)).suffix().toLower();
}

bool draw_svg(QWidget& widget, QIODevice& file) {
  QSvgGenerator picture;
  picture.setOutputDevice(&file);
  picture.setSize(widget.size());
  picture.setViewBox(widget.rect());
  picture.setTitle(widget.windowTitle());
  QPainter painter;
  if (!painter.begin(&picture)) return false;
  widget.render(&painter);
  return painter.end();
}

bool draw_png(QWidget& widget, QIODevice& file) {
  const double ratio = widget.devicePixelRatioF();
  QImage image(widget.size() * ratio, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  widget.render(&image);
  return image.save(&file, "PNG");
}

// How long the frames of a fixed tour take, in milliseconds by the names that `--timings` writes.

QJsonObject frame_times(MainWindow& window) {
  const FrameTimes times = tour_frames(window.timeline(), window.session().axis());
  return {{QLatin1String("frame_ms_median"), times.at(0.5)},
          {QLatin1String("frame_ms_p95"), times.at(0.95)},
          {QLatin1String("frame_ms_p99"), times.at(0.99)},
          {QLatin1String("frame_ms_worst"), times.at(1)}};
}

constexpr int kLookEveryMs = 5;
// Drawing may ask for more to be computed, which is drawn then; a picture is not worth more rounds.
constexpr int kMostRounds = 8;

template <typename Condition>
void wait_while(const Condition& is_waiting) {
  QTimer wake;  // so that the wait ends though no other event comes
  wake.start(kLookEveryMs);
  while (is_waiting()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

void settle(MainWindow& window) {
  for (int round = 0; round < kMostRounds; ++round) {
    wait_while([&] { return window.is_busy(); });
    static_cast<void>(window.grab());
    QCoreApplication::processEvents();
    if (!window.is_busy()) return;
  }
  wait_while([&] { return window.is_busy(); });
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

Result<void> write_text(const std::string& path, const QByteArray& text) {
  if (path == "-") {
    const auto size = static_cast<std::size_t>(text.size());
    const bool is_written = std::fwrite(text.constData(), 1, size, stdout) == size;
    if (is_written && std::fflush(stdout) == 0) return {};
    return fail("", "standard output", "cannot be written");
  }
  QSaveFile file(QString::fromStdString(path));
  if (file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit())
    return {};
  return fail(path, "", "cannot be written (" + file.errorString().toStdString() + ")");
}

std::int64_t events_of(const Session& session) {
  std::int64_t events = 0;
  for (const DocumentPtr& document : session.documents()) {
    events += static_cast<std::int64_t>(document->trace->events.size());
  }
  return events;
}

}  // namespace

Result<void> check_picture_name(const std::string& path) {
  if (ending(path) == QLatin1String("png") || ending(path) == QLatin1String("svg")) return {};
  return fail(path, "", "is not the name of a picture; expected one that ends in .png or .svg");
}

Result<void> write_picture(QWidget& widget, const std::string& path) {
  if (auto ok = check_picture_name(path); !ok) return ok;
  QSaveFile file(QString::fromStdString(path));
  const bool is_svg = ending(path) == QLatin1String("svg");
  if (!file.open(QIODevice::WriteOnly) ||
      !(is_svg ? draw_svg(widget, file) : draw_png(widget, file)) || !file.commit()) {
    return fail(path, "",
                "cannot be written (" + file.errorString().toStdString() +
                    "); expected a folder that can be written and room for the picture");
  }
  return {};
}

void prepare(MainWindow& window, const ViewerOptions& options) {
  if (options.view >= 0) window.choose_view(options.view);
  QStringList files;
  for (const std::string& file : options.files) files << QString::fromStdString(file);
  window.open(files, options.steps);
  if (!options.range) return;
  QObject::connect(
      &window.loader(), &Loader::finished, &window,
      [&window, range = *options.range] { window.session().axis().show(range); },
      Qt::SingleShotConnection);
}

Result<void> run_unattended(MainWindow& window, const ViewerOptions& options) {
  window.setFixedSize(options.size);
  window.show();
  std::optional<Error> error;
  QObject::connect(&window, &MainWindow::failed, &window, [&](const Error& failed) {
    if (!error) error = failed;
  });
  QElapsedTimer clock;
  clock.start();
  window.read(options.files, options.steps);
  wait_while([&] { return window.loader().is_busy() && !error; });
  if (error) return tl::unexpected(*error);
  const double open_ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
  if (options.view >= 0) window.choose_view(options.view);
  if (QWidget* const focus = QApplication::focusWidget()) focus->clearFocus();
  if (options.range) window.session().axis().show(*options.range);
  static_cast<void>(window.grab());
  const double first_paint_ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
  settle(window);
  if (options.range) {  // the width of the lanes is known now
    window.session().axis().show(*options.range);
    settle(window);
  }
  if (!options.picture.empty()) {
    if (auto written = write_picture(window, options.picture); !written) return written;
  }
  if (!options.description.empty()) {
    const View& view = *window.current_view();
    const std::string text =
        description_json(view_name(window.view_index()), view.description()) + '\n';
    if (auto written = write_text(options.description, QByteArray::fromStdString(text)); !written) {
      return written;
    }
  }
  if (options.timings.empty()) return {};
  QJsonObject timings = frame_times(window);
  timings[QLatin1String("events")] = static_cast<qint64>(events_of(window.session()));
  timings[QLatin1String("open_ms")] = open_ms;
  timings[QLatin1String("first_paint_ms")] = first_paint_ms;
  timings[QLatin1String("resident_bytes")] = static_cast<qint64>(resident_bytes());
  return write_text(options.timings, QJsonDocument(timings).toJson());
}

}  // namespace foreshard::gui
