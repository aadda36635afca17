#include "gui/views/memory/owner_tree.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kRowHeight = 20, kIndent = 16, kFigureWidth = 84;
constexpr std::size_t kShown = 6;  // of each group

}  // namespace

OwnerTree::OwnerTree(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Owners of memory"));
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void OwnerTree::set_owners(std::vector<MemoryOwner> owners) {
  owners_ = std::move(owners);
  if (open_.empty() && !owners_.empty() && owners_.front().parts.size() > 1) {
    open_.insert(QLatin1Char('/') + owners_.front().name);
  }
  rebuild();
}

void OwnerTree::rebuild() {
  rows_.clear();
  list(owners_, 0, {});
  current_ = std::clamp(current_, 0, std::max(rows() - 1, 0));
  updateGeometry();
  update();
}

void OwnerTree::list(const std::vector<MemoryOwner>& owners, int depth, const QString& path) {
  const bool is_in_full = owners.size() <= kShown + 1 || in_full_.count(path) > 0;
  const std::size_t count = is_in_full ? owners.size() : kShown;
  for (std::size_t n = 0; n < count; ++n) {
    const QString own_path = path + QLatin1Char('/') + owners[n].name;
    rows_.push_back({depth, owners[n].name, own_path, &owners[n]});
    if (!owners[n].parts.empty() && open_.count(own_path) > 0) {
      list(owners[n].parts, depth + 1, own_path);
    }
  }
  if (!is_in_full)
    rows_.push_back({depth, tr("and %1 more").arg(owners.size() - count), path, nullptr});
}

void OwnerTree::toggle(int row) {
  if (row < 0 || row >= rows()) return;
  const Row chosen = rows_[static_cast<std::size_t>(row)];
  if (chosen.owner == nullptr) {
    in_full_.insert(chosen.path);
  } else if (chosen.owner->allocation != nullptr) {
    Q_EMIT buffer_chosen(chosen.owner->allocation);
    return;
  } else if (open_.erase(chosen.path) == 0) {
    open_.insert(chosen.path);
  }
  rebuild();
}

QString OwnerTree::as_text() const {
  QStringList lines;
  for (const Row& row : rows_) {
    const QString bytes = row.owner == nullptr ? QString() : bytes_figure(row.owner->bytes).text();
    lines << QString(2 * row.depth, QLatin1Char(' ')) + row.name + QLatin1Char('\t') + bytes;
  }
  return lines.join(QLatin1Char('\n'));
}

QPoint OwnerTree::row_centre(int row) const {
  return {kIndent * 3, row * kRowHeight + kRowHeight / 2};
}

QSize OwnerTree::sizeHint() const {
  return {200, std::max(rows(), 1) * kRowHeight};
}

void OwnerTree::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  for (int n = 0; n < rows(); ++n) {
    const Row& row = rows_[static_cast<std::size_t>(n)];
    const double middle = n * kRowHeight + kRowHeight / 2.0;
    double x = row.depth * kIndent;
    const bool is_group = row.owner != nullptr && !row.owner->parts.empty();
    if (is_group) {
      draw_triangle(painter, {x + 5, middle}, is_open(row), theme()[Role::text2]);
    } else if (row.owner != nullptr) {
      draw_swatch(painter, {x + 5, middle}, theme()[row.owner->role]);
    }
    x += kIndent;
    painter.setFont(gui::font(row.depth == 0 ? Text::strong : Text::body));
    const Role ink = row.owner == nullptr ? Role::text3 : row.depth > 1 ? Role::text2 : Role::text;
    painter.setPen(theme()[ink]);
    const QFontMetricsF metrics(painter.font());
    const double room = width() - x - kFigureWidth;
    painter.drawText(QRectF(x, n * kRowHeight, room, kRowHeight), Qt::AlignVCenter,
                     metrics.elidedText(row.name, Qt::ElideMiddle, room));
    if (row.owner != nullptr) {
      draw_figure(painter, QRectF(width() - kFigureWidth, n * kRowHeight, kFigureWidth, kRowHeight),
                  Qt::AlignRight, bytes_figure(row.owner->bytes).text());
    }
    if (hasFocus() && n == current_) {
      draw_focus(painter, QRectF(0, n * kRowHeight, width(), kRowHeight).adjusted(1, 1, -1, -1));
    }
  }
}

void OwnerTree::mousePressEvent(QMouseEvent* event) {
  current_ = static_cast<int>(event->position().y()) / kRowHeight;
  toggle(current_);
}

void OwnerTree::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up: current_ = std::max(current_ - 1, 0); break;
    case Qt::Key_Down: current_ = std::min(current_ + 1, rows() - 1); break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space: toggle(current_); break;
    default: return PaintedWidget::keyPressEvent(event);
  }
  update();
}

bool OwnerTree::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = help->pos().y() / kRowHeight;
    const auto* owner = row < rows() ? rows_[static_cast<std::size_t>(row)].owner : nullptr;
    QToolTip::showText(help->globalPos(),
                       owner == nullptr
                           ? QString()
                           : tr("%1\n%2 in %n block(s)", nullptr, static_cast<int>(owner->blocks))
                                 .arg(owner->name, exact_bytes(owner->bytes)),
                       this);
    return true;
  }
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
