#include "gui/views/timeline/zoom_motion.hpp"

#include <algorithm>
#include <cmath>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kMilliseconds = 90;
constexpr int kFrameMilliseconds = 12;

double eased(double share) { return 1 - (1 - share) * (1 - share); }

}  // namespace

ZoomMotion::ZoomMotion(TimeAxis& axis, QObject* parent) : QObject(parent), axis_(axis) {
  timer_.setTimerType(Qt::PreciseTimer);
  timer_.setInterval(kFrameMilliseconds);
  connect(&timer_, &QTimer::timeout, this, &ZoomMotion::advance);
}

void ZoomMotion::zoom(double factor, double at_pixel) {
  if (!is_animated_ || Appearance::instance().has_less_motion()) {
    axis_.zoom(factor, at_pixel);
    Q_EMIT finished();
    return;
  }
  left_ += std::log(factor);
  at_pixel_ = at_pixel;
  done_ = 0;
  clock_.start();
  if (!timer_.isActive()) timer_.start();
}

void ZoomMotion::finish() {
  if (!timer_.isActive()) return;
  timer_.stop();
  axis_.zoom(std::exp(left_), at_pixel_);
  left_ = 0;
  Q_EMIT finished();
}

void ZoomMotion::advance() {
  const double share = std::min(static_cast<double>(clock_.elapsed()) / kMilliseconds, 1.0);
  if (share >= 1) return finish();
  const double step = left_ * (eased(share) - eased(done_)) / (1 - eased(done_));
  done_ = share;
  left_ -= step;
  axis_.zoom(std::exp(step), at_pixel_);
}

}  // namespace foreshard::gui
