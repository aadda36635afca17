#include "gui/paint/labels.hpp"

#include <cmath>

#include <QCache>
#include <QFontMetricsF>
#include <QPaintEngine>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

struct LabelKey {
  QString text;
  QRgb colour = 0;
  double ratio = 1;
  Text style = Text::body;
  bool operator==(const LabelKey&) const = default;
};

std::size_t qHash(const LabelKey& key, std::size_t seed = 0) {
  return qHashMulti(seed, key.text, key.colour, key.ratio, static_cast<int>(key.style));
}

// Metrics of one style: asking a font for them takes long.
struct StyleMetrics {
  QFont font;
  double ascent, descent, digit;
  QCache<QString, double> widths{20'000};
};

class LabelStore {
 public:
  StyleMetrics& metrics(Text style) {
    if (scale_ != Appearance::instance().text_scale()) {
      scale_ = Appearance::instance().text_scale();
      images_.clear();
      for (auto& metrics : metrics_) metrics.reset();
    }
    auto& known = metrics_[static_cast<std::size_t>(style)];
    if (known == nullptr) {
      known = std::make_unique<StyleMetrics>();
      known->font = font(style);
      const QFontMetricsF measured(known->font);
      known->ascent = measured.ascent();
      known->descent = measured.descent();
      known->digit = 0;
      for (char digit = '0'; digit <= '9'; ++digit) {
        known->digit = std::max(known->digit, measured.horizontalAdvance(QLatin1Char(digit)));
      }
    }
    return *known;
  }

  double width(const QString& text, Text style) {
    StyleMetrics& own = metrics(style);
    if (const double* known = own.widths.object(text)) return *known;
    const double width = QFontMetricsF(own.font).horizontalAdvance(text);
    own.widths.insert(text, new double(width));
    return width;
  }

  void draw(QPainter& painter, QPointF baseline, const QString& text, Text style, QColor colour) {
    const StyleMetrics& own = metrics(style);
    if (painter.paintEngine()->type() != QPaintEngine::Raster) {
      painter.setFont(own.font);
      painter.setPen(colour);
      painter.drawText(baseline, text);
      return;
    }
    const double ratio = painter.device()->devicePixelRatioF();
    const QPointF top_left(std::round((baseline.x() - kMargin) * ratio) / ratio,
                           std::round((baseline.y() - own.ascent) * ratio) / ratio);
    painter.drawImage(top_left, image({text, colour.rgba(), ratio, style}, own));
  }

 private:
  static constexpr int kMargin = 2;  // glyphs may reach beyond their advance

  const QImage& image(const LabelKey& key, const StyleMetrics& own) {
    if (const QImage* known = images_.object(key)) return *known;
    const QSizeF size(width(key.text, key.style) + 2 * kMargin, own.ascent + own.descent + 1);
    auto* image = new QImage((size * key.ratio).toSize() + QSize(1, 1),
                             QImage::Format_ARGB32_Premultiplied);
    image->setDevicePixelRatio(key.ratio);
    image->fill(Qt::transparent);
    QPainter painter(image);
    painter.setFont(own.font);
    painter.setPen(QColor::fromRgba(key.colour));
    painter.drawText(QPointF(kMargin, own.ascent), key.text);
    painter.end();
    images_.insert(key, image, image->sizeInBytes());
    return *image;
  }

  double scale_ = 1;
  std::array<std::unique_ptr<StyleMetrics>, static_cast<std::size_t>(Text::kCount)> metrics_;
  QCache<LabelKey, QImage> images_{8 << 20};
};

LabelStore& store() {
  static LabelStore store;
  return store;
}

QPointF baseline_in(const QRectF& box, Qt::Alignment alignment, double width, Text style) {
  const StyleMetrics& metrics = store().metrics(style);
  double x = box.left();
  if (alignment & Qt::AlignRight) x = box.right() - width;
  if (alignment & Qt::AlignHCenter) x = box.center().x() - width / 2;
  return {x, box.center().y() + (metrics.ascent - metrics.descent) / 2};
}

}  // namespace

double label_width(const QString& text, Text style) { return store().width(text, style); }

void draw_label(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text,
                Text style, QColor colour) {
  if (text.isEmpty()) return;
  store().draw(painter, baseline_in(box, alignment, label_width(text, style), style), text, style,
               colour);
}

double figure_label_width(const QString& text, Text style) {
  const double digit = store().metrics(style).digit;
  double width = 0;
  for (const QChar c : text) width += c.isDigit() ? digit : label_width(c, style);
  return width;
}

void draw_figure_label(QPainter& painter, const QRectF& box, Qt::Alignment alignment,
                       const QString& text, Text style, QColor colour) {
  const double digit = store().metrics(style).digit;
  QPointF at = baseline_in(box, alignment, figure_label_width(text, style), style);
  for (const QChar c : text) {
    const double own = label_width(c, style);
    const double advance = c.isDigit() ? digit : own;
    if (!c.isSpace()) store().draw(painter, at + QPointF((advance - own) / 2, 0), c, style, colour);
    at.rx() += advance;
  }
}

QString elided_label(const QString& text, Text style, double width) {
  if (label_width(text, style) <= width) return text;
  return QFontMetricsF(store().metrics(style).font).elidedText(text, Qt::ElideRight, width);
}

}  // namespace foreshard::gui
