#include "gui/views/shell/top_bar.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainterPath>
#include <QPushButton>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/inspector/search.hpp"

namespace foreshard::gui {
namespace {

constexpr int kGutter = 5;
constexpr int kBetween = 8;
constexpr int kCrossWidth = 22;
constexpr int kNarrowest = 170;

QString chip_title(const Document& document) {
  if (document.detail.isEmpty()) return document.title;
  if (document.source == Source::what_if) return document.detail;  // its title is its source's word
  return document.detail + QStringLiteral(" · ") + document.title;
}

constexpr int kMark = 14, kMarkMargin = 7;

// The program's mark: three bars, a whole one and shards of it.
void draw_mark(QPainter& painter, const QRectF& box, QColor colour) {
  const double unit = box.width() / 14;
  QColor pale = colour;
  pale.setAlphaF(0.55F);
  painter.fillRect(QRectF(box.left(), box.top(), 4 * unit, box.height()), colour);
  painter.fillRect(QRectF(box.left() + 5 * unit, box.top(), 4 * unit, box.height() * 0.62), colour);
  painter.fillRect(
      QRectF(box.left() + 5 * unit, box.top() + box.height() * 0.7, 4 * unit, box.height() * 0.3),
      pale);
  painter.fillRect(QRectF(box.left() + 10 * unit, box.top(), 4 * unit, box.height() * 0.3), pale);
  painter.fillRect(QRectF(box.left() + 10 * unit, box.top() + box.height() * 0.38, 4 * unit,
                          box.height() * 0.62),
                   colour);
}

}  // namespace

QString source_word(Source source) {
  switch (source) {
    case Source::measured: return DocumentChips::tr("Measured");
    case Source::predicted: return DocumentChips::tr("Predicted");
    case Source::what_if: return DocumentChips::tr("What-if");
  }
  return {};
}

DocumentChips::DocumentChips(Session& session, QWidget* parent)
    : QTabBar(parent), session_(session) {
  setFocusPolicy(Qt::TabFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setDrawBase(false);
  setExpanding(false);
  setUsesScrollButtons(true);
  setAccessibleName(tr("Open documents"));
  connect(&session_, &Session::documents_changed, this, &DocumentChips::take_documents);
  connect(&session_, &Session::current_changed, this, &DocumentChips::take_documents);
  connect(this, &QTabBar::currentChanged, &session_, &Session::set_current);
}

void DocumentChips::take_documents() {
  const QSignalBlocker quiet(this);
  const auto& documents = session_.documents();
  while (count() > static_cast<int>(documents.size())) removeTab(count() - 1);
  for (int n = 0; n < static_cast<int>(documents.size()); ++n) {
    const Document& document = *documents[static_cast<std::size_t>(n)];
    const QString text = source_word(document.source) + QLatin1Char(' ') + chip_title(document);
    QStringList paths;
    for (const std::string& file : document.files) paths << QString::fromStdString(file);
    if (n == count()) addTab(text);
    setTabText(n, text);
    setTabToolTip(n, paths.isEmpty() ? chip_title(document) : paths.join(QLatin1Char('\n')));
  }
  if (session_.current_index() >= 0) setCurrentIndex(session_.current_index());
  const DocumentPtr current = session_.current();
  setAccessibleDescription(current ? tabText(currentIndex()) : QString());
  updateGeometry();
  update();
}

QSize DocumentChips::sizeHint() const {
  return {400, scaled(43)};
}
QSize DocumentChips::minimumSizeHint() const {
  return {40, scaled(43)};
}

double DocumentChips::wish(const Document& document) const {
  const double word =
      QFontMetricsF(gui::font(Text::secondary)).horizontalAdvance(source_word(document.source));
  return std::ceil(kGutter + 8 + word + 7 +
                   figure_width(gui::font(Text::value), chip_title(document)) + 8 + kCrossWidth);
}

// As wide as its words, all narrower by the same share where there is no room, but not too narrow to tell them
// apart: the bar scrolls then.
QSize DocumentChips::tabSizeHint(int index) const {
  const auto& documents = session_.documents();
  if (index >= static_cast<int>(documents.size())) return {kBetween, height()};
  double sum = 0;
  for (const DocumentPtr& document : documents) sum += wish(*document) + kBetween;
  const double share = std::min(1.0, width() / sum);
  const double wanted = wish(*documents[static_cast<std::size_t>(index)]);
  const double least = std::min(wanted, static_cast<double>(scaled(kNarrowest)));
  return {static_cast<int>(std::max(least, std::floor(wanted * share - kBetween)) + kBetween),
          height()};
}

QRectF DocumentChips::chip(int index) const {
  const QRect tab = tabRect(index);
  const int tall = scaled(22);
  return QRectF(tab.left(), (height() - tall) / 2, tab.width() - kBetween, tall);
}
QRectF DocumentChips::cross(int index) const {
  const QRectF box = chip(index);
  return {box.right() - kCrossWidth, box.top(), kCrossWidth, box.height()};
}

void DocumentChips::draw_chip(QPainter& painter, const QRectF& box, int index) const {
  const Document& document = *session_.documents()[static_cast<std::size_t>(index)];
  const bool is_current = index == session_.current_index();
  const QRectF outline = box.adjusted(0.5, 0.5, -0.5, -0.5);
  QPainterPath shape;
  shape.addRoundedRect(outline, 4, 4);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillPath(shape, theme()[is_current ? Role::raised : Role::panel]);
  painter.save();
  painter.setClipPath(shape);
  const QRectF gutter(box.left(), box.top(), kGutter, box.height());
  if (document.is_predicted()) {
    painter.fillRect(gutter, theme()[Role::canvas]);
    painter.fillRect(gutter, hatch(theme()[Role::text2], Hatch::diagonal, 4));
  } else {
    painter.fillRect(gutter, theme()[Role::host]);
  }
  painter.restore();
  painter.setPen(QPen(theme()[is_current ? Role::text3 : Role::strong_line], 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(shape);

  const double right = box.right() - kCrossWidth;
  double left = box.left() + kGutter + 8;
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  const double word = painter.fontMetrics().horizontalAdvance(source_word(document.source));
  if (left + word + 7 < right) {
    painter.drawText(QRectF(left, box.top(), word + 1, box.height()), Qt::AlignVCenter,
                     source_word(document.source));
    left += word + 7;
  }
  painter.setFont(gui::font(Text::value));
  painter.setPen(theme()[Role::text]);
  const QString all = chip_title(document);  // the model alone would not tell its runs apart
  const bool has_room = figure_width(painter.font(), all) <= right - left;
  const QString& shown = has_room || document.source == Source::what_if ? all : document.title;
  draw_figure(painter, QRectF(left, box.top(), right - left, box.height()), Qt::AlignLeft,
              elided_figure(painter.font(), shown, right - left));

  const bool is_hot = index == hot_cross_;
  painter.setPen(QPen(theme()[is_hot ? Role::text : Role::text3], 1.3));
  const QPointF middle(box.right() - kCrossWidth / 2.0 - 1, box.center().y());
  painter.drawLine(middle + QPointF(-3, -3), middle + QPointF(3, 3));
  painter.drawLine(middle + QPointF(-3, 3), middle + QPointF(3, -3));
}

void DocumentChips::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  for (int n = 0; n < count(); ++n) draw_chip(painter, chip(n), n);
  if (!hasFocus() || currentIndex() < 0) return;
  painter.setPen(QPen(theme()[Role::focus], 2));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(chip(currentIndex()).adjusted(1, 1, -1, -1), 4, 4);
}

void DocumentChips::mousePressEvent(QMouseEvent* event) {
  const int index = tabAt(event->pos());
  const bool closes =
      index >= 0 &&
      (event->button() == Qt::MiddleButton ||
       (event->button() == Qt::LeftButton && cross(index).contains(event->position())));
  if (closes) {
    Q_EMIT close_asked(index);
  } else {
    QTabBar::mousePressEvent(event);
  }
}

void DocumentChips::mouseMoveEvent(QMouseEvent* event) {
  const int tab = tabAt(event->pos());
  hot_cross_ = tab >= 0 && cross(tab).contains(event->position()) ? tab : -1;
  update();
}

void DocumentChips::leaveEvent(QEvent*) {
  hot_cross_ = -1;
  update();
}

void DocumentChips::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Delete && currentIndex() >= 0)
    return void(Q_EMIT close_asked(currentIndex()));
  QTabBar::keyPressEvent(event);
}

TopBar::TopBar(Session& session, Search& search, const QStringList& views, QWidget* parent)
    : PaintedWidget(parent),
      menu_(new QToolButton(this)),
      tabs_(new SegmentedControl(views, this, SegmentedControl::Look::underlined)),
      chips_(new DocumentChips(session, this)),
      search_(new SearchField(search, this)),
      help_(new QPushButton(QStringLiteral("?"), this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  menu_->setAccessibleName(tr("Menu"));
  menu_->setToolTip(tr("Menu"));
  menu_->setProperty("mark", true);
  menu_->setPopupMode(QToolButton::InstantPopup);
  menu_->setFocusPolicy(Qt::TabFocus);
  menu_->setIconSize({kMark, kMark});
  menu_->setFixedSize(kMark + 2 * kMarkMargin, kMark + 2 * kMarkMargin);
  connect(&Appearance::instance(), &Appearance::changed, this, &TopBar::draw_menu_mark);
  draw_menu_mark();
  tabs_->setAccessibleName(tr("Views"));
  help_->setAccessibleName(tr("Keys"));
  help_->setToolTip(tr("All keys"));
  help_->setFixedWidth(34);
  help_->setFocusPolicy(Qt::TabFocus);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(16 - kMarkMargin, 0, 16, 1);
  row->setSpacing(0);
  row->addWidget(menu_);
  row->addWidget(tabs_);
  row->addSpacing(20);
  row->addWidget(chips_, 1);
  row->addSpacing(16);
  row->addWidget(search_);
  row->addSpacing(12);
  row->addWidget(help_);
}

void TopBar::draw_menu_mark() {
  constexpr int kSharpest = 3;  // device pixels of one
  QPixmap mark(kMark * kSharpest, kMark * kSharpest);
  mark.setDevicePixelRatio(kSharpest);
  mark.fill(Qt::transparent);
  QPainter painter(&mark);
  draw_mark(painter, QRectF(0, 0, kMark, kMark), theme()[Role::ink]);
  painter.end();
  menu_->setIcon(mark);
}

QSize TopBar::sizeHint() const {
  return {1000, scaled(44)};
}

void TopBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme()[Role::line]);
  painter.fillRect(QRect(tabs_->geometry().right() + 10, height() / 2 - 10, 1, 20),
                   theme()[Role::line]);
}

}  // namespace foreshard::gui
