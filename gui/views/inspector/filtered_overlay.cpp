#include "gui/views/inspector/filtered_overlay.hpp"

#include <QKeyEvent>
#include <QLineEdit>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/views/inspector/key_list.hpp"

namespace foreshard::gui {

FilteredOverlay::FilteredOverlay(QWidget* window, QSize panel, const QString& placeholder)
    : Overlay(window, panel), field_(new QLineEdit), list_(new KeyList) {
  field_->setPlaceholderText(placeholder);
  field_->setAccessibleName(placeholder);
  field_->installEventFilter(this);
  list_->setFocusPolicy(Qt::NoFocus);
  content()->addWidget(field_);
  content()->addWidget(list_, 1);
  connect(field_, &QLineEdit::textChanged, list_, &KeyList::set_filter);
  connect(list_, &QListView::clicked, this, [this] { Q_EMIT row_chosen(list_->current_id()); });
}

void FilteredOverlay::open_cleared() {
  field_->clear();
  open(field_);
}

bool FilteredOverlay::moves_list(int key) {
  const int page =
      std::max(1, list_->viewport()->height() / std::max(1, list_->sizeHintForRow(0)) - 1);
  switch (key) {
    case Qt::Key_Down: list_->move_current(1); return true;
    case Qt::Key_Up: list_->move_current(-1); return true;
    case Qt::Key_PageDown: list_->move_current(page); return true;
    case Qt::Key_PageUp: list_->move_current(-page); return true;
    default: return false;
  }
}

bool FilteredOverlay::eventFilter(QObject* watched, QEvent* event) {
  if (watched == field_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (moves_list(key)) return true;
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
      if (list_->current_id() >= 0) Q_EMIT row_chosen(list_->current_id());
      return true;
    }
  }
  return Overlay::eventFilter(watched, event);
}

}  // namespace foreshard::gui
