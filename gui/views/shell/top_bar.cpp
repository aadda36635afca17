#include "gui/views/shell/top_bar.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <utility>

#include "gui/paint/fonts.hpp"
#include "gui/paint/mark.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/inspector/search_field.hpp"
#include "gui/views/shell/document_chips.hpp"
#include "gui/views/shell/view_tabs.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMarkWidth = 16;

}  // namespace

TopBar::TopBar(Session& session, Search& search, std::vector<QString> views, QWidget* parent)
    : PaintedWidget(parent),
      tabs_(new ViewTabs(std::move(views), this)),
      chips_(new DocumentChips(session, this)),
      search_(new SearchField(search, this)),
      help_(new QPushButton(QStringLiteral("?"), this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  help_->setAccessibleName(tr("Keys"));
  help_->setToolTip(tr("All keys"));
  help_->setFixedWidth(34);
  help_->setFocusPolicy(Qt::TabFocus);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(16 + kMarkWidth, 0, 16, 1);
  row->setSpacing(0);
  row->addWidget(tabs_);
  row->addSpacing(20);
  row->addWidget(chips_, 1);
  row->addSpacing(16);
  row->addWidget(search_);
  row->addSpacing(12);
  row->addWidget(help_);
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
  draw_mark(painter, QRectF(16, height() / 2.0 - 7, 14, 14), theme()[Role::ink]);
}

}  // namespace foreshard::gui
