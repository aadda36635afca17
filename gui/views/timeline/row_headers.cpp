#include "gui/views/timeline/row_headers.hpp"

#include <algorithm>

#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kGutter = 5, kIndent = 16, kLegendGap = 20;
constexpr int kLeastTitle = 13;  // a folded lane's reaches over the row below

void hairline(QPainter& painter, double y, const QRectF& box) {
  const double thin = 1 / painter.device()->devicePixelRatioF();
  painter.fillRect(QRectF(box.left(), y, box.width(), thin), theme()[Role::line]);
}

// Three steps of the units' ramp stand for all of them.
void draw_ramp(QPainter& painter, const QRectF& box) {
  constexpr int kSteps = 6;
  for (int n = 0; n < kSteps; ++n) {
    const double from = box.left() + box.width() * n / kSteps;
    painter.fillRect(QRectF(from, box.top(), box.width() / kSteps, box.height()),
                     theme().unit(static_cast<double>(n) / (kSteps - 1), false));
  }
}

double draw_legend_entry(QPainter& painter, const QRectF& box, double x, const LegendEntry& entry) {
  const bool is_wide = entry.is_ramp;
  const QRectF swatch(x, box.center().y() - 4, is_wide ? 26 : 12, 8);
  if (entry.is_ramp) {
    draw_ramp(painter, swatch);
  } else if (entry.is_line) {
    painter.fillRect(QRectF(x, box.center().y() - 0.8, 16, 1.6), entry.colour);
  } else {
    painter.fillRect(swatch, entry.colour);
    if (entry.is_hatched) {
      painter.fillRect(swatch,
                       hatch(theme().towards_canvas(entry.colour, 0.5), Hatch::diagonal, 4));
    }
  }
  const double text_left = x + (entry.is_line ? 22 : swatch.width() + 6);
  draw_label(painter, QRectF(text_left, box.top(), scaled(200), box.height()), Qt::AlignLeft,
             entry.text, Text::secondary, theme()[Role::text2]);
  return text_left + label_width(entry.text, Text::secondary) + kLegendGap;
}

}  // namespace

void paint_gutter(QPainter& painter, const QRectF& box, bool is_predicted) {
  const QRectF gutter(box.left(), box.top(), kGutter, box.height());
  painter.fillRect(gutter, is_predicted ? hatch(theme()[Role::text3], Hatch::diagonal, 4)
                                        : QBrush(theme()[Role::strong_line]));
}

void paint_section_header(QPainter& painter, const QRectF& box, double left, const SceneRow& row) {
  painter.fillRect(box, theme()[Role::panel]);
  hairline(painter, box.top(), box);
  hairline(painter, box.bottom() - 1, box);
  draw_triangle(painter, QPointF(box.left() + 20, box.center().y()), row.is_open,
                theme()[Role::text]);
  const QRectF text(box.left() + 30, box.top(), box.width(), box.height());
  draw_label(painter, text, Qt::AlignLeft, row.title, Text::strong, theme()[Role::text]);
  double x = text.left() + label_width(row.title, Text::strong) + 10;
  const double note_width = label_width(row.note, Text::secondary);
  if (row.legend.empty()) {
    draw_label(painter, QRectF(x, box.top(), note_width, box.height()), Qt::AlignLeft, row.note,
               Text::secondary, theme()[Role::text3]);
    return;
  }
  x = std::max(x, left + 6);
  const double right = box.right() - 12 - note_width;
  constexpr double kSwatch = 34, kMore = 28;
  for (std::size_t n = 0; n < row.legend.size(); ++n) {
    const std::size_t left_out = row.legend.size() - n;
    const double room = right - x - (left_out > 1 ? kMore : 0);
    if (label_width(row.legend[n].text, Text::secondary) + kSwatch > room) {
      draw_label(painter, QRectF(x, box.top(), kMore, box.height()), Qt::AlignLeft,
                 QStringLiteral("+%1").arg(left_out), Text::secondary, theme()[Role::text3]);
      break;
    }
    x = draw_legend_entry(painter, box, x, row.legend[n]);
  }
  draw_label(painter, QRectF(right, box.top(), note_width, box.height()), Qt::AlignLeft, row.note,
             Text::secondary, theme()[Role::text3]);
}

void paint_row_header(QPainter& painter, const QRectF& box, double left, const SceneRow& row,
                      const QString& figure, bool is_current) {
  if (row.kind == SceneRow::Kind::section) return paint_section_header(painter, box, left, row);
  const QRectF header(box.left(), box.top(), left, box.height());
  if (is_current) painter.fillRect(header, theme()[Role::hover]);
  paint_gutter(painter, box, row.is_predicted);
  QRectF text = header.adjusted(kIndent, 0, -12, 0);
  if (row.kind == SceneRow::Kind::lane)
    text.setHeight(std::max<double>(text.height(), scaled(kLeastTitle)));
  const double figure_width = figure_label_width(figure, Text::secondary);
  if (row.kind == SceneRow::Kind::unit) {  // narrow rows: named at the right, where there is room
    if (!row.title.isEmpty()) {
      draw_label(painter, text, Qt::AlignRight, row.title, Text::secondary, theme()[Role::text3]);
    }
    return;
  }
  QRectF title = text;
  if (row.kind == SceneRow::Kind::ranks) {
    draw_triangle(painter, QPointF(box.left() + 20, box.center().y()), false, theme()[Role::text]);
    title.setLeft(box.left() + 30);
  }
  draw_label(painter, title, Qt::AlignLeft,
             elided_label(row.title, Text::body, title.width() - figure_width - 8), Text::body,
             theme()[Role::text]);
  draw_figure_label(painter, text, Qt::AlignRight, figure, Text::secondary, theme()[Role::text3]);
}

}  // namespace foreshard::gui
