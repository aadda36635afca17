// An overlay with a field and a list that what is typed there narrows: up and down move in the list
// while the keyboard stays in the field, Enter chooses.
#pragma once

#include "gui/views/inspector/overlay.hpp"

class QLineEdit;

namespace foreshard::gui {

class KeyList;

class FilteredOverlay : public Overlay {
  Q_OBJECT
 public:
  FilteredOverlay(QWidget* window, QSize panel, const QString& placeholder);

  QLineEdit* field() const { return field_; }
  KeyList* list() const { return list_; }

 Q_SIGNALS:
  void row_chosen(int id);

 protected:
  void open_cleared();
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  bool moves_list(int key);

  QLineEdit* field_;
  KeyList* list_;
};

}  // namespace foreshard::gui
