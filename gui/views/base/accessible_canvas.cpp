#include "gui/views/base/accessible_canvas.hpp"

#include <QAbstractScrollArea>
#include <QAccessible>
#include <QAccessibleWidget>
#include <QWindow>
#include <map>

namespace foreshard::gui {
namespace {

// A row, or the selection: the child after the last row.
class ItemInterface : public QAccessibleInterface {
 public:
  ItemInterface(QWidget* widget, int index)
      : widget_(widget), canvas_(dynamic_cast<AccessibleCanvas&>(*widget)), index_(index) {}

  bool isValid() const override { return item().has_value(); }
  QObject* object() const override { return nullptr; }
  QWindow* window() const override { return widget_->window()->windowHandle(); }
  QAccessibleInterface* parent() const override {
    return QAccessible::queryAccessibleInterface(widget_);
  }
  QAccessibleInterface* child(int) const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  void setText(QAccessible::Text, const QString&) override {}

  QString text(QAccessible::Text kind) const override {
    const auto shown = kind == QAccessible::Name ? item() : std::nullopt;
    return shown ? shown->text : QString();
  }
  QRect rect() const override {
    const auto shown = item();
    if (!shown) return {};
    const auto* area = qobject_cast<const QAbstractScrollArea*>(widget_);
    const QWidget* surface = area == nullptr ? widget_ : area->viewport();
    const QRect box = shown->box.toRect();
    return {surface->mapToGlobal(box.topLeft()), box.size()};
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
  bool is_row() const { return index_ < canvas_.accessible_rows(); }
  std::optional<AccessibleItem> item() const {
    if (is_row()) return canvas_.accessible_row(index_);
    return index_ == canvas_.accessible_rows() ? canvas_.accessible_selection() : std::nullopt;
  }

  QWidget* widget_;
  AccessibleCanvas& canvas_;
  int index_;
};

class CanvasInterface : public QAccessibleWidget {
 public:
  CanvasInterface(QWidget* widget, const AccessibleCanvas& canvas)
      : QAccessibleWidget(widget, QAccessible::Table), canvas_(canvas) {}
  ~CanvasInterface() override {
    for (const auto& [index, id] : children_) QAccessible::deleteAccessibleInterface(id);
  }

  int childCount() const override {
    return canvas_.accessible_rows() + canvas_.accessible_selection().has_value();
  }
  QAccessibleInterface* child(int index) const override {
    if (index < 0 || index >= childCount()) return nullptr;
    auto known = children_.find(index);
    if (known == children_.end()) {
      const auto id = QAccessible::registerAccessibleInterface(new ItemInterface(widget(), index));
      known = children_.emplace(index, id).first;
    }
    return QAccessible::accessibleInterface(known->second);
  }
  int indexOfChild(const QAccessibleInterface* child) const override {
    const auto* item = dynamic_cast<const ItemInterface*>(child);
    return item == nullptr ? -1 : item->index();
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    for (int n = childCount() - 1; n >= 0; --n) {
      if (child(n)->rect().contains(x, y)) return child(n);
    }
    return nullptr;
  }

 private:
  const AccessibleCanvas& canvas_;
  mutable std::map<int, QAccessible::Id> children_;
};

QAccessibleInterface* interface_of(const QString&, QObject* object) {
  auto* widget = qobject_cast<QWidget*>(object);
  const auto* canvas = dynamic_cast<const AccessibleCanvas*>(object);
  return widget == nullptr || canvas == nullptr ? nullptr : new CanvasInterface(widget, *canvas);
}

}  // namespace

AccessibleCanvas::AccessibleCanvas() {
  static const bool is_installed = (QAccessible::installFactory(interface_of), true);
  static_cast<void>(is_installed);
}

void announce_selection(QWidget* canvas) {
  QAccessibleEvent event(canvas, QAccessible::Selection);
  QAccessible::updateAccessibility(&event);
}

}  // namespace foreshard::gui
