#include "gui/views/shell/empty_page.hpp"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/session/sentences.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/labels.hpp"

namespace foreshard::gui {
namespace {

constexpr int kRecentShown = 6;
constexpr int kColumnWidth = 420;

}  // namespace

EmptyPage::EmptyPage(QWidget* parent)
    : PaintedWidget(parent), recent_(new QVBoxLayout), recent_box_(new QWidget(this)) {
  auto* open = new QPushButton(tr("Open a trace…"), this);
  open->setProperty("primary", true);
  auto* plan = new QPushButton(tr("Start from a plan"), this);
  connect(open, &QPushButton::clicked, this, &EmptyPage::open_asked);
  connect(plan, &QPushButton::clicked, this, &EmptyPage::plan_asked);

  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  buttons->addWidget(open);
  buttons->addWidget(plan);
  buttons->addStretch(1);
  recent_box_->setLayout(recent_);
  recent_->setContentsMargins(0, 0, 0, 0);
  recent_->setSpacing(2);

  auto* column = new QWidget(this);
  column->setFixedWidth(kColumnWidth);
  auto* inner = new QVBoxLayout(column);
  inner->setSpacing(12);
  inner->addWidget(new TextLabel(Text::title, Role::text, nothing_open(), this));
  inner->addLayout(buttons);
  inner->addSpacing(12);
  inner->addWidget(recent_box_);
  auto* outer = new QVBoxLayout(this);
  outer->addStretch(2);
  outer->addWidget(column, 0, Qt::AlignHCenter);
  outer->addStretch(3);
}

void EmptyPage::set_recent(const QStringList& files) {
  while (QLayoutItem* item = recent_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  recent_box_->setVisible(!files.isEmpty());
  if (files.isEmpty()) return;
  recent_->addWidget(new TextLabel(Text::secondary_strong, Role::text2, tr("Recent"), recent_box_));
  for (const QString& file : files.mid(0, kRecentShown)) {
    const QFileInfo info(file);
    auto* button = new QPushButton(info.fileName(), recent_box_);
    button->setProperty("link", true);
    button->setToolTip(file);
    button->setCursor(Qt::PointingHandCursor);
    connect(button, &QPushButton::clicked, this, [this, file] { Q_EMIT recent_asked(file); });
    recent_->addWidget(button, 0, Qt::AlignLeft);
  }
}

void EmptyPage::paintEvent(QPaintEvent*) {
  QPainter(this).fillRect(rect(), theme()[Role::canvas]);
}

}  // namespace foreshard::gui
