#include "gui/views/memory/owner_tree.hpp"

#include <QHeaderView>
#include <QKeyEvent>
#include <QSignalBlocker>
#include <QTreeWidgetItemIterator>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kShown = 6;  // of each group

// A row with the owner it stands for; null: "and 8 more".
class OwnerRow : public QTreeWidgetItem {
 public:
  OwnerRow(const QString& name, const QString& row_path, const MemoryOwner* row_owner)
      : QTreeWidgetItem({name}), path(row_path), owner(row_owner) {}

  QString path;
  const MemoryOwner* owner;
};

int depth_of(const QTreeWidgetItem* row) {
  return row->parent() == nullptr ? 0 : 1 + depth_of(row->parent());
}

}  // namespace

OwnerTree::OwnerTree(QWidget* parent) : QTreeWidget(parent) {
  setAccessibleName(tr("Owners of memory"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFrameShape(NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setColumnCount(2);
  setHeaderHidden(true);
  header()->setStretchLastSection(false);
  header()->setSectionResizeMode(0, QHeaderView::Stretch);
  header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  setIndentation(16);
  setTextElideMode(Qt::ElideMiddle);
  setExpandsOnDoubleClick(false);
  connect(this, &QTreeWidget::itemClicked, this, &OwnerTree::choose);
  connect(this, &QTreeWidget::itemExpanded, this, [this](QTreeWidgetItem* row) {
    const auto* opened = static_cast<OwnerRow*>(row);
    open_.insert(opened->path);
    if (row->childCount() == 0) list(opened->owner->parts, row, opened->path);
    updateGeometry();
  });
  connect(this, &QTreeWidget::itemCollapsed, this, [this](QTreeWidgetItem* row) {
    open_.erase(static_cast<OwnerRow*>(row)->path);
    updateGeometry();
  });
  connect(&Appearance::instance(), &Appearance::changed, this, &OwnerTree::rebuild);
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
  const QSignalBlocker quiet(this);
  const auto* current = static_cast<OwnerRow*>(currentItem());
  const QString before = current == nullptr ? QString() : current->path + current->text(0);
  clear();
  list(owners_, invisibleRootItem(), {});
  setCurrentItem(topLevelItem(0), 0, QItemSelectionModel::NoUpdate);
  for (QTreeWidgetItem* row : shown_rows()) {
    if (static_cast<OwnerRow*>(row)->path + row->text(0) == before) {
      setCurrentItem(row, 0, QItemSelectionModel::NoUpdate);
    }
  }
  updateGeometry();
}

// Parts of what is closed are listed once it is opened.
void OwnerTree::list(const std::vector<MemoryOwner>& owners, QTreeWidgetItem* parent,
                     const QString& path) {
  const bool is_in_full = owners.size() <= kShown + 1 || in_full_.contains(path);
  const std::size_t count = is_in_full ? owners.size() : kShown;
  const auto add = [&](const QString& name, const QString& row_path, const MemoryOwner* owner) {
    auto* row = new OwnerRow(name, row_path, owner);
    parent->addChild(row);
    const int depth = depth_of(row);
    row->setSizeHint(0, {0, scaled(20)});
    row->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    for (const int column : {0, 1}) {
      row->setFont(column, gui::font(depth == 0 ? Text::strong : Text::body));
      row->setForeground(column, theme()[owner == nullptr ? Role::text3
                                         : depth > 1      ? Role::text2
                                                          : Role::text]);
    }
    return row;
  };
  for (std::size_t n = 0; n < count; ++n) {
    const MemoryOwner& owner = owners[n];
    const QString own_path = path + QLatin1Char('/') + owner.name;
    OwnerRow* row = add(owner.name, own_path, &owner);
    row->setText(1, bytes_text(owner.bytes, are_differences_));
    row->setToolTip(
        0, tr("%1\n%2 in %n block(s)", nullptr, static_cast<int>(owner.blocks))
               .arg(owner.detail.isEmpty() ? owner.name : owner.detail, exact_bytes(owner.bytes)));
    if (owner.parts.empty()) continue;
    if (open_.contains(own_path)) {
      list(owner.parts, row, own_path);
      row->setExpanded(true);
    } else {
      row->setChildIndicatorPolicy(QTreeWidgetItem::ShowIndicator);
    }
  }
  if (!is_in_full) add(tr("and %1 more").arg(owners.size() - count), path, nullptr);
}

// Where a group has its triangle a single buffer has its swatch.
void OwnerTree::drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const {
  QTreeWidget::drawBranches(painter, rect, index);
  const MemoryOwner* owner = static_cast<OwnerRow*>(itemFromIndex(index))->owner;
  if (owner == nullptr || !owner->parts.empty()) return;
  draw_swatch(*painter, {rect.right() - indentation() / 2.0, rect.center().y() + 0.5},
              theme()[owner->role]);
}

void OwnerTree::choose(QTreeWidgetItem* row) {
  const auto* chosen = static_cast<OwnerRow*>(row);
  if (chosen == nullptr) return;
  if (chosen->owner == nullptr) {
    in_full_.insert(chosen->path);
    rebuild();
  } else if (chosen->owner->allocation != nullptr) {
    Q_EMIT buffer_chosen(chosen->owner->allocation);
  } else if (!chosen->owner->parts.empty()) {
    row->setExpanded(!row->isExpanded());
  }
}

QList<QTreeWidgetItem*> OwnerTree::shown_rows() const {
  QList<QTreeWidgetItem*> rows;
  for (QTreeWidgetItem* row = topLevelItem(0); row != nullptr; row = itemBelow(row)) rows << row;
  return rows;
}

QString OwnerTree::as_text() const {
  QStringList lines;
  for (const QTreeWidgetItem* row : shown_rows()) {
    lines << QString(2 * depth_of(row), QLatin1Char(' ')) + row->text(0) + QLatin1Char('\t') +
                 row->text(1);
  }
  return lines.join(QLatin1Char('\n'));
}

QSize OwnerTree::sizeHint() const {
  return {200, std::max(1, static_cast<int>(shown_rows().size())) * scaled(20)};
}

void OwnerTree::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space: return choose(currentItem());
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right: return QTreeWidget::keyPressEvent(event);
    default: event->ignore();  // letters are commands of the view
  }
}

}  // namespace foreshard::gui
