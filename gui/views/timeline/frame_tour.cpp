#include "gui/views/timeline/frame_tour.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <QElapsedTimer>
#include <QEventLoop>
#include <QImage>
#include <QTimer>

namespace foreshard::gui {
namespace {

constexpr int kFramesOfLeg = 30;
constexpr int kFrameMilliseconds = 16;

using Step = std::function<void(TimeAxis&)>;

// Each leg repeats its step: into a third of the window and out again, along, and from the whole trace
// down to single events.
std::vector<Step> legs() {
  const auto zoom = [](double factor, double share) {
    return [=](TimeAxis& axis) { axis.zoom(factor, share * axis.width()); };
  };
  const auto pan = [](double pixels) { return [=](TimeAxis& axis) { axis.pan(pixels); }; };
  return {zoom(1.1, 0.33), pan(37), pan(-160), zoom(1.25, 0.6), pan(23), zoom(1 / 1.3, 0.5),
          pan(400), zoom(1 / 1.1, 0.2)};
}

void wait(int milliseconds) {
  QEventLoop loop;
  QTimer::singleShot(milliseconds, Qt::PreciseTimer, &loop, &QEventLoop::quit);
  loop.exec();
}

}  // namespace

double FrameTimes::at(double share) const {
  if (milliseconds.empty()) return 0;
  std::vector<double> sorted = milliseconds;
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * last))];
}

FrameTimes tour_frames(TimelineView& view, TimeAxis& axis) {
  const traces::Interval before = axis.window();
  axis.show(axis.bounds());
  const double ratio = view.devicePixelRatioF();
  QImage image(view.size() * ratio, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);

  FrameTimes times;
  QElapsedTimer clock;
  for (const Step& step : legs()) {
    for (int n = 0; n < kFramesOfLeg; ++n) {
      clock.start();
      step(axis);
      view.render(&image);
      times.milliseconds.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
      wait(std::max(kFrameMilliseconds - static_cast<int>(clock.elapsed()), 0));
    }
  }
  axis.show(before);
  return times;
}

}  // namespace foreshard::gui
