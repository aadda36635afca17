#include "gui/views/inspector/key_list.hpp"

#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>
#include <optional>
#include <utility>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kRowPadding = 8;
constexpr double kCapGap = 4;

bool holds_all(const QString& text, const QStringList& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

class KeyRowDelegate : public QStyledItemDelegate {
 public:
  KeyRowDelegate(const KeyRows& rows, QObject* parent) : QStyledItemDelegate(parent), rows_(rows) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const KeyRow& row = rows_.row(index.row());
    QRectF box = QRectF(option.rect);
    if (row.is_heading) {
      painter->setFont(font(Text::secondary_strong));
      painter->setPen(theme()[Role::text3]);
      painter->drawText(box.adjusted(kRowPadding, 6, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                        row.text);
      return;
    }
    if (option.state & QStyle::State_Selected) {
      painter->setRenderHint(QPainter::Antialiasing);
      painter->setPen(Qt::NoPen);
      painter->setBrush(theme()[Role::hover]);
      painter->drawRoundedRect(box, 4, 4);
    }
    box.adjust(kRowPadding, 0, -kRowPadding, 0);
    const QStringList keys = row.keys.split(QStringLiteral(", "), Qt::SkipEmptyParts);
    double left = box.right();
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      left -= key_cap_width(*key);
      draw_key_cap(*painter, left, box.center().y(), *key);
      left -= kCapGap;
    }
    painter->setFont(font(Text::body));
    painter->setPen(theme()[row.is_enabled ? Role::text : Role::text3]);
    box.setRight(left - kCapGap);
    painter->drawText(
        box, Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(painter->font()).elidedText(row.text, Qt::ElideRight, box.width()));
  }

  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    return {100, scaled(rows_.row(index.row()).is_heading ? 32 : 26)};
  }

 private:
  const KeyRows& rows_;
};

}  // namespace

std::vector<KeyRow> filtered_rows(const std::vector<KeyRow>& rows, const QString& filter) {
  const QStringList words = filter.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<KeyRow> kept;
  std::optional<KeyRow> heading;
  bool is_whole_section = false;
  for (const KeyRow& row : rows) {
    if (row.is_heading) {
      heading = row;
      is_whole_section = holds_all(row.text, words);
      continue;
    }
    if (!is_whole_section && !holds_all(row.text + QLatin1Char(' ') + row.keys, words)) continue;
    if (heading) kept.push_back(*std::exchange(heading, std::nullopt));
    kept.push_back(row);
  }
  return kept;
}

void KeyRows::set_rows(std::vector<KeyRow> rows) {
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int KeyRows::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant KeyRows::data(const QModelIndex& index, int role) const {
  const KeyRow& shown = row(index.row());
  if (role == Qt::DisplayRole) return shown.text;
  if (role == Qt::AccessibleTextRole) return shown.text + QLatin1String(": ") + shown.keys;
  return {};
}

Qt::ItemFlags KeyRows::flags(const QModelIndex& index) const {
  const KeyRow& shown = row(index.row());
  if (shown.is_heading || !shown.is_enabled) return Qt::NoItemFlags;
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable;
}

KeyList::KeyList(QWidget* parent) : QListView(parent), model_(new KeyRows(this)) {
  setModel(model_);
  setItemDelegate(new KeyRowDelegate(*model_, this));
  setFrameShape(QFrame::NoFrame);
  setVerticalScrollMode(ScrollPerPixel);
  setEditTriggers(NoEditTriggers);
  viewport()->setAutoFillBackground(false);
  connect(&Appearance::instance(), &Appearance::changed, this,
          [this] { scheduleDelayedItemsLayout(); });
}

void KeyList::set_rows(std::vector<KeyRow> rows) {
  rows_ = std::move(rows);
  set_filter({});
}

void KeyList::set_filter(const QString& filter) {
  model_->set_rows(filtered_rows(rows_, filter));
  scrollToTop();
  move_current(1);
}

void KeyList::paintEvent(QPaintEvent* event) {
  QListView::paintEvent(event);
  if (model_->rowCount() > 0) return;
  QPainter painter(viewport());
  painter.setFont(gui::font(Text::body));
  painter.setPen(theme()[Role::text2]);
  painter.drawText(viewport()->rect().adjusted(8, 8, -8, -8), Qt::AlignTop | Qt::AlignHCenter,
                   tr("Nothing matches."));
}

void KeyList::move_current(int rows) {
  const int step = rows < 0 ? -1 : 1;
  int left = std::abs(rows);
  for (int n = currentIndex().row() + step; n >= 0 && n < model_->rowCount() && left > 0;
       n += step) {
    if (!(model_->flags(model_->index(n)) & Qt::ItemIsSelectable)) continue;
    setCurrentIndex(model_->index(n));
    --left;
  }
}

int KeyList::current_id() const {
  return currentIndex().isValid() ? model_->row(currentIndex().row()).id : -1;
}

}  // namespace foreshard::gui
