#include "gui/views/shell/frame_times.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QImage>
#include <algorithm>
#include <cmath>
#include <vector>

namespace foreshard::gui {
namespace {

constexpr int kFrames = 300;

double quantile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(share * last))];
}

}  // namespace

QJsonObject frame_times(MainWindow& window) {
  TimeAxis& axis = window.session().axis();
  axis.show(axis.bounds());
  QImage frame(window.size(), QImage::Format_RGB32);
  std::vector<double> times;
  for (int n = 0; n < kFrames; ++n) {
    const bool zooms = n / 50 % 2 == 0;
    QElapsedTimer clock;
    clock.start();
    if (zooms) {
      axis.zoom(n < kFrames / 2 ? 1.1 : 1 / 1.1, axis.width() * 0.4);
    } else {
      axis.pan(40);
    }
    window.current_view()->render(&frame);
    times.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
    QCoreApplication::processEvents();
  }
  std::sort(times.begin(), times.end());
  return {{QLatin1String("frame_ms_median"), quantile(times, 0.5)},
          {QLatin1String("frame_ms_p95"), quantile(times, 0.95)},
          {QLatin1String("frame_ms_p99"), quantile(times, 0.99)},
          {QLatin1String("frame_ms_worst"), times.back()}};
}

}  // namespace foreshard::gui
