#include "gui/views/base/progress_hairline.hpp"

#include <QEvent>
#include <QPainter>
#include <cmath>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kHairlineHeight = 2, kFrameMs = 40;
constexpr double kStretch = 0.25, kFramesOfPass = 40;

}  // namespace

ProgressHairline::ProgressHairline(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Waiting for the answer"));
  setAttribute(Qt::WA_TransparentForMouseEvents);
  parent->installEventFilter(this);
  delay_.setSingleShot(true);
  delay_.setInterval(kDelayMs);
  connect(&delay_, &QTimer::timeout, this, &ProgressHairline::appear);
  motion_.setInterval(kFrameMs);
  connect(&motion_, &QTimer::timeout, this, [this] {
    place_ = std::fmod(place_ + 1 / kFramesOfPass, 1.0);
    update();
  });
  hide();
}

void ProgressHairline::set_awaiting(bool awaits) {
  if (!awaits) {
    delay_.stop();
    motion_.stop();
    hide();
  } else if (isHidden() && !delay_.isActive()) {
    delay_.start();
  }
}

void ProgressHairline::appear() {
  place_ = 0;
  follow_parent();
  show();
  raise();
  if (!Appearance::instance().has_less_motion()) motion_.start();
}

void ProgressHairline::follow_parent() {
  const QWidget* const parent = parentWidget();
  setGeometry(0, parent->height() - kHairlineHeight, parent->width(), kHairlineHeight);
}

bool ProgressHairline::eventFilter(QObject*, QEvent* event) {
  if (event->type() == QEvent::Resize) follow_parent();
  return false;
}

void ProgressHairline::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (!motion_.isActive()) return painter.fillRect(rect(), theme()[Role::focus]);
  // It enters at the left before it leaves at the right.
  const double stretch = width() * kStretch;
  painter.fillRect(QRectF((width() + stretch) * place_ - stretch, 0, stretch, height()),
                   theme()[Role::focus]);
}

}  // namespace foreshard::gui
