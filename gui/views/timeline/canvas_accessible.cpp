#include "gui/views/timeline/canvas_accessible.hpp"

#include <QAccessible>
#include <QWindow>

#include "gui/views/timeline/timeline_canvas.hpp"

namespace foreshard::gui {
namespace {

// A row, or the selected event: the child after the last row.
class CanvasItem : public QAccessibleInterface {
 public:
  CanvasItem(TimelineCanvas* canvas, int index) : canvas_(canvas), index_(index) {}

  bool isValid() const override { return index_ <= row_count(); }
  QObject* object() const override { return nullptr; }
  QWindow* window() const override { return canvas_->window()->windowHandle(); }
  QAccessibleInterface* parent() const override {
    return QAccessible::queryAccessibleInterface(canvas_);
  }
  QAccessibleInterface* child(int) const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  void setText(QAccessible::Text, const QString&) override {}

  QString text(QAccessible::Text kind) const override {
    if (kind != QAccessible::Name || !isValid()) return {};
    return is_row() ? canvas_->row_text(static_cast<std::size_t>(index_)) : canvas_->as_text();
  }
  QRect rect() const override {
    if (!isValid()) return {};
    const QRect box = (is_row() ? canvas_->row_box(canvas_->scene().rows()[static_cast<std::size_t>(
                                      index_)])
                                : canvas_->selection_box())
                          .toRect();
    return {canvas_->viewport()->mapToGlobal(box.topLeft()), box.size()};
  }
  QAccessible::Role role() const override {
    return is_row() ? QAccessible::Row : QAccessible::ListItem;
  }
  QAccessible::State state() const override {
    QAccessible::State state;
    state.selectable = true;
    state.selected = !is_row();
    return state;
  }

  int index() const { return index_; }

 private:
  int row_count() const { return static_cast<int>(canvas_->scene().rows().size()); }
  bool is_row() const { return index_ < row_count(); }

  TimelineCanvas* canvas_;
  int index_;
};

}  // namespace

CanvasAccessible::CanvasAccessible(TimelineCanvas* canvas)
    : QAccessibleWidget(canvas, QAccessible::Table) {}

CanvasAccessible::~CanvasAccessible() {
  for (const auto& [index, id] : children_) QAccessible::deleteAccessibleInterface(id);
}

TimelineCanvas& CanvasAccessible::canvas() const { return *static_cast<TimelineCanvas*>(widget()); }

int CanvasAccessible::childCount() const {
  return static_cast<int>(canvas().scene().rows().size()) + !canvas().selection_box().isEmpty();
}

QAccessibleInterface* CanvasAccessible::child(int index) const {
  if (index < 0 || index >= childCount()) return nullptr;
  auto known = children_.find(index);
  if (known == children_.end()) {
    known = children_
                .emplace(index, QAccessible::registerAccessibleInterface(
                                    new CanvasItem(&canvas(), index)))
                .first;
  }
  return QAccessible::accessibleInterface(known->second);
}

int CanvasAccessible::indexOfChild(const QAccessibleInterface* child) const {
  const auto* item = dynamic_cast<const CanvasItem*>(child);
  return item == nullptr ? -1 : item->index();
}

QAccessibleInterface* CanvasAccessible::childAt(int x, int y) const {
  for (int n = childCount() - 1; n >= 0; --n) {
    if (child(n)->rect().contains(x, y)) return child(n);
  }
  return nullptr;
}

void install_canvas_accessible() {
  static const bool is_installed = [] {
    QAccessible::installFactory([](const QString&, QObject* object) -> QAccessibleInterface* {
      auto* canvas = qobject_cast<TimelineCanvas*>(object);
      return canvas == nullptr ? nullptr : new CanvasAccessible(canvas);
    });
    return true;
  }();
  static_cast<void>(is_installed);
}

}  // namespace foreshard::gui
