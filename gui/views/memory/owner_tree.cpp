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

constexpr int kIndent = 16;
constexpr std::size_t kShown = 6;  // of each group

int row_height() {
  return scaled(20);
}

}  // namespace

OwnerTree::OwnerTree(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Owners of memory"));
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void OwnerTree::set_owners(std::vector<MemoryOwner> owners, bool are_differences) {
  owners_ = std::move(owners);
  are_differences_ = are_differences;
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
    lines << QString(2 * row.depth, QLatin1Char(' ')) + row_text(row);
  }
  return lines.join(QLatin1Char('\n'));
}

QString OwnerTree::row_text(const Row& row) const {
  return row.name + QLatin1Char('\t') + (row.owner == nullptr ? QString() : bytes_text(*row.owner));
}

QString OwnerTree::bytes_text(const MemoryOwner& owner) const {
  const Figure figure = bytes_figure(owner.bytes);
  return are_differences_ ? signed_text(figure, owner.bytes < 0) : figure.text();
}

AccessibleItem OwnerTree::accessible_row(int row) const {
  return {row_text(rows_[static_cast<std::size_t>(row)]),
          QRectF(0, row * row_height(), width(), row_height())};
}

std::optional<AccessibleItem> OwnerTree::accessible_selection() const {
  return rows_.empty() ? std::nullopt : std::optional(accessible_row(current_));
}

QPoint OwnerTree::row_centre(int row) const {
  return {kIndent * 3, row * row_height() + row_height() / 2};
}

QSize OwnerTree::sizeHint() const {
  return {200, std::max(rows(), 1) * row_height()};
}

void OwnerTree::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const int figure_room = scaled(84);
  for (int n = 0; n < rows(); ++n) {
    const Row& row = rows_[static_cast<std::size_t>(n)];
    const double middle = n * row_height() + row_height() / 2.0;
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
    const double room = width() - x - figure_room;
    painter.drawText(QRectF(x, n * row_height(), room, row_height()), Qt::AlignVCenter,
                     metrics.elidedText(row.name, Qt::ElideMiddle, room));
    if (row.owner != nullptr) {
      draw_figure(painter,
                  QRectF(width() - figure_room, n * row_height(), figure_room, row_height()),
                  Qt::AlignRight, bytes_text(*row.owner));
    }
    if (hasFocus() && n == current_) {
      draw_focus(painter,
                 QRectF(0, n * row_height(), width(), row_height()).adjusted(1, 1, -1, -1));
    }
  }
}

void OwnerTree::mousePressEvent(QMouseEvent* event) {
  const int row = static_cast<int>(event->position().y()) / row_height();
  if (row >= rows()) return;
  set_current(row);
  toggle(row);
}

void OwnerTree::set_current(int row) {
  current_ = std::clamp(row, 0, std::max(rows() - 1, 0));
  announce_selection(this);
  update();
}

void OwnerTree::keyPressEvent(QKeyEvent* event) {
  if (rows_.empty()) return PaintedWidget::keyPressEvent(event);
  const Row& now = rows_[static_cast<std::size_t>(current_)];
  const bool is_group = now.owner != nullptr && !now.owner->parts.empty();
  switch (event->key()) {
    case Qt::Key_Up: return set_current(current_ - 1);
    case Qt::Key_Down: return set_current(current_ + 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space: return toggle(current_);
    case Qt::Key_Left:
    case Qt::Key_Right:
      if (is_group && is_open(now) == (event->key() == Qt::Key_Left)) toggle(current_);
      return;
    default: PaintedWidget::keyPressEvent(event);
  }
}

bool OwnerTree::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = help->pos().y() / row_height();
    const auto* owner = row < rows() ? rows_[static_cast<std::size_t>(row)].owner : nullptr;
    QToolTip::showText(help->globalPos(),
                       owner == nullptr
                           ? QString()
                           : tr("%1\n%2 in %n block(s)", nullptr, static_cast<int>(owner->blocks))
                                 .arg(owner->detail.isEmpty() ? owner->name : owner->detail,
                                      exact_bytes(owner->bytes)),
                       this);
    return true;
  }
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
