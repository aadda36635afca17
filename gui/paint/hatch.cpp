#include "gui/paint/hatch.hpp"

#include <mutex>

#include <QHash>
#include <QPainter>
#include <QPixmap>

namespace foreshard::gui {

QBrush hatch(QColor line, Hatch kind, int spacing) {
  static QHash<quint64, QBrush> cache;
  static std::mutex mutex;  // tiles are painted by several threads
  const std::lock_guard lock(mutex);
  const quint64 key = (static_cast<quint64>(line.rgba()) << 8) |
                      static_cast<quint64>(spacing * 2 + (kind == Hatch::cross));
  if (const auto known = cache.constFind(key); known != cache.constEnd()) return *known;

  constexpr int kRatio = 2;  // drawn twice as fine, for displays of high density
  QImage image(spacing * kRatio, spacing * kRatio, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(kRatio);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(line, 1));
  for (int from = -spacing; from <= spacing; from += spacing) {
    painter.drawLine(QPointF(from, spacing), QPointF(from + spacing, 0));
    if (kind == Hatch::cross) painter.drawLine(QPointF(from, 0), QPointF(from + spacing, spacing));
  }
  painter.end();
  return *cache.insert(key, QBrush(image));
}

}  // namespace foreshard::gui
