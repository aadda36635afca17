// The marks of a sweep's plans: a shape of its own for each value of the first key, filled where no
// other plan beats it; and the legend that names them.
#pragma once

#include <QPainter>
#include <QStringList>
#include <vector>

namespace foreshard::gui {

constexpr std::size_t kSweepShapes = 8;  // of more values the first shape comes again

void draw_sweep_mark(QPainter& painter, QPointF centre, std::size_t value, bool is_filled);

// A mark and a word for each value, from left to right in as many lines as they need.
class SweepLegend {
 public:
  SweepLegend() = default;
  SweepLegend(const QStringList& values, QPointF top_left, double width);

  void paint(QPainter& painter) const;
  QPointF mark_centre(std::size_t value) const { return entries_[value].mark; }
  double height() const { return height_; }

 private:
  struct Entry {
    QPointF mark;
    QString text;
  };
  std::vector<Entry> entries_;
  double height_ = 0;
};

}  // namespace foreshard::gui
