#include "gui/views/inspector/key_overlay.hpp"

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kWindowMargin = 48, kOverlayPadding = 16;
constexpr int kDimming = 90;  // alpha of the veil over the window
constexpr double kRowPadding = 8, kCapGap = 4;
constexpr int kKeys = Qt::UserRole, kIsHeading = Qt::UserRole + 1;

// The action on the left, its keys engraved on the right, under headings.
class KeyRowDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QRectF box = QRectF(option.rect);
    const QString text = index.data().toString();
    if (index.data(kIsHeading).toBool()) {
      painter->setFont(font(Text::secondary_strong));
      painter->setPen(theme()[Role::text3]);
      painter->drawText(box.adjusted(kRowPadding, 6, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, text);
      return;
    }
    if (option.state & QStyle::State_Selected) {
      painter->setRenderHint(QPainter::Antialiasing);
      painter->setPen(Qt::NoPen);
      painter->setBrush(theme()[Role::hover]);
      painter->drawRoundedRect(box, 4, 4);
    }
    box.adjust(kRowPadding, 0, -kRowPadding, 0);
    const QStringList keys =
        index.data(kKeys).toString().split(QStringLiteral(", "), Qt::SkipEmptyParts);
    double left = box.right();
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      left -= key_cap_width(*key);
      draw_key_cap(*painter, left, box.center().y(), *key);
      left -= kCapGap;
    }
    painter->setFont(font(Text::body));
    painter->setPen(theme()[index.flags() & Qt::ItemIsEnabled ? Role::text : Role::text3]);
    box.setRight(left - kCapGap);
    painter->drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetricsF(painter->font()).elidedText(text, Qt::ElideRight, box.width()));
  }

  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    return {100, scaled(index.data(kIsHeading).toBool() ? 32 : 26)};
  }
};

// As an action's words read outside of a menu: "&Open..." becomes "Open".
QString plain_words(QString text) {
  text.remove(QLatin1Char('&'));
  while (text.endsWith(QLatin1Char('.')) || text.endsWith(QChar(0x2026))) text.chop(1);
  return text;
}

}  // namespace

KeyOverlay::KeyOverlay(QWidget* window, QSize largest, const QString& name,
                       const QString& placeholder)
    : PaintedWidget(window),
      largest_(largest),
      content_(new QVBoxLayout(this)),
      field_(new QLineEdit),
      list_(new QListWidget) {
  setAccessibleName(name);
  content_->setSpacing(12);
  content_->addWidget(field_);
  content_->addWidget(list_, 1);
  field_->setPlaceholderText(placeholder);
  field_->setAccessibleName(placeholder);
  field_->installEventFilter(this);
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setItemDelegate(new KeyRowDelegate(list_));
  list_->setFrameShape(QFrame::NoFrame);
  list_->setVerticalScrollMode(QListView::ScrollPerPixel);
  list_->viewport()->setAutoFillBackground(false);
  connect(field_, &QLineEdit::textChanged, this, &KeyOverlay::filter);
  connect(list_, &QListWidget::itemClicked, this, &KeyOverlay::choose);
  connect(&Appearance::instance(), &Appearance::changed, list_,
          [this] { list_->setItemDelegate(new KeyRowDelegate(list_)); });  // measures rows again
  window->installEventFilter(this);
  hide();
}

void KeyOverlay::add_row(const QString& text, const QString& keys, bool is_heading,
                         bool can_be_chosen) {
  auto* row = new QListWidgetItem(text, list_);
  row->setData(kKeys, keys);
  row->setData(kIsHeading, is_heading);
  row->setData(Qt::AccessibleTextRole, text + QLatin1String(": ") + keys);
  if (!can_be_chosen) row->setFlags(Qt::NoItemFlags);
}

void KeyOverlay::show_keys(const std::vector<KeySection>& sections) {
  list_->clear();
  actions_.clear();
  for (const KeySection& section : sections) {
    add_row(section.title, {}, true, false);
    for (const KeyHelp& key : section.keys) add_row(key.action, key.keys, false, true);
  }
  open();
}

void KeyOverlay::show_commands(const QList<QAction*>& actions) {
  list_->clear();
  actions_.clear();
  for (QAction* action : actions) {
    if (action->text().isEmpty() || action->isSeparator() || !action->isVisible()) continue;
    const QString shortcuts =
        QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText)
            .replace(QStringLiteral("; "), QStringLiteral(", "));
    const QString key = action->text().section(QLatin1Char('\t'), 1);  // of no shortcut
    add_row(plain_words(action->text().section(QLatin1Char('\t'), 0, 0)),
            key.isEmpty() ? shortcuts : key, false, action->isEnabled());
    actions_ << action;
  }
  open();
}

void KeyOverlay::open() {
  add_row(tr("Nothing matches."), {}, false, false);
  field_->clear();
  filter({});
  if (!isVisible()) focus_before_ = QApplication::focusWidget();
  setGeometry(parentWidget()->rect());
  raise();
  show();
  field_->setFocus(Qt::PopupFocusReason);
}

void KeyOverlay::close_overlay() {
  hide();
  if (focus_before_ != nullptr) focus_before_->setFocus(Qt::PopupFocusReason);
}

// Keeps rows that hold all words, in any case, and all rows of headings that do; headings stay where a
// row below them does.
void KeyOverlay::filter(const QString& text) {
  const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  const auto holds_all = [&](const QString& row) {
    return std::ranges::all_of(
        words, [&](const QString& word) { return row.contains(word, Qt::CaseInsensitive); });
  };
  QListWidgetItem *heading = nullptr, *first = nullptr;
  bool is_whole_section = false, is_any = false;
  const int last = list_->count() - 1;
  for (int n = 0; n < last; ++n) {
    QListWidgetItem* row = list_->item(n);
    row->setHidden(true);
    if (row->data(kIsHeading).toBool()) {
      heading = row;
      is_whole_section = holds_all(row->text());
      continue;
    }
    const QString all = row->text() + QLatin1Char(' ') + row->data(kKeys).toString();
    if (!is_whole_section && !holds_all(all)) continue;
    row->setHidden(false);
    if (heading != nullptr) heading->setHidden(false);
    if (first == nullptr && row->flags() != Qt::NoItemFlags) first = row;
    is_any = true;
  }
  list_->item(last)->setHidden(is_any);
  list_->setCurrentItem(first);
  list_->scrollToTop();
}

QStringList KeyOverlay::shown() const {
  QStringList rows;
  for (int n = 0; n < list_->count(); ++n) {
    if (!list_->item(n)->isHidden()) rows << list_->item(n)->text();
  }
  return rows;
}

void KeyOverlay::choose() {
  if (list_->currentItem() == nullptr || actions_.isEmpty()) return;
  const QPointer<QAction> action = actions_.value(list_->currentRow());
  close_overlay();
  if (action != nullptr) action->trigger();
}

QRect KeyOverlay::panel() const {
  const QSize size(std::min(scaled(largest_.width()), width() - 2 * kWindowMargin),
                   std::min(scaled(largest_.height()), height() - 2 * kWindowMargin));
  const int top = std::max(kWindowMargin, (height() - size.height()) / 3);
  return {QPoint((width() - size.width()) / 2, top), size};
}

bool KeyOverlay::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) {
    setGeometry(parentWidget()->rect());
  }
  if (watched == field_ && event->type() == QEvent::KeyPress) {
    switch (static_cast<QKeyEvent*>(event)->key()) {
      case Qt::Key_Down:
      case Qt::Key_Up:
      case Qt::Key_PageDown:
      case Qt::Key_PageUp: QApplication::sendEvent(list_, event); return true;
      case Qt::Key_Return:
      case Qt::Key_Enter: choose(); return true;
      default: break;
    }
  }
  return PaintedWidget::eventFilter(watched, event);
}

void KeyOverlay::resizeEvent(QResizeEvent*) {
  const QRect box =
      panel().adjusted(kOverlayPadding, kOverlayPadding, -kOverlayPadding, -kOverlayPadding);
  content_->setContentsMargins(box.left(), box.top(), width() - box.right() - 1,
                               height() - box.bottom() - 1);
  content_->activate();
}

void KeyOverlay::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), QColor(0, 0, 0, kDimming));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::strong_line], 1));
  painter.setBrush(theme()[Role::raised]);
  painter.drawRoundedRect(QRectF(panel()).adjusted(0.5, 0.5, -0.5, -0.5), 7, 7);
}

void KeyOverlay::mousePressEvent(QMouseEvent* event) {
  if (!panel().contains(event->position().toPoint())) close_overlay();
}

bool KeyOverlay::event(QEvent* event) {
  // Esc is the overlay's own while it is open, whatever it does in the window below.
  if (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress) {
    if (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
      event->accept();
      if (event->type() == QEvent::KeyPress) close_overlay();
      return true;
    }
  }
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
