// Zooming that takes a moment, so that the eye follows: 90 ms, or none where less motion is wished.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include "gui/models/base/time_axis.hpp"

namespace foreshard::gui {

class ZoomMotion : public QObject {
  Q_OBJECT
 public:
  explicit ZoomMotion(TimeAxis& axis, QObject* parent = nullptr);

  // > 1: closer. What is at the pixel stays there. One that begins before the last has ended
  // continues from where that was going.
  void zoom(double factor, double at_pixel);
  void finish();  // at once
  bool is_moving() const { return timer_.isActive(); }
  // Whether zooming takes its moment where motion is wished; pictures and timings do without.
  void set_animated(bool animated) { is_animated_ = animated; }

 Q_SIGNALS:
  void finished();

 private:
  void advance();

  TimeAxis& axis_;
  QTimer timer_;
  QElapsedTimer clock_;
  double at_pixel_ = 0;
  double left_ = 0;  // logarithm of the factor that is still to come
  double done_ = 0;  // share of the time that has passed
  bool is_animated_ = true;
};

}  // namespace foreshard::gui
