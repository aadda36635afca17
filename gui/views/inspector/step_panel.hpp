// The inspector while nothing is selected: the last step in sum.
#pragma once

#include "gui/models/session/session.hpp"
#include "gui/views/inspector/panel.hpp"

namespace foreshard::gui {

class FactList;
class Paragraph;
class ShareBar;

class StepPanel : public Panel {
  Q_OBJECT
 public:
  explicit StepPanel(Session& session, QWidget* parent = nullptr);

  QString as_text() const;

 Q_SIGNALS:
  void fit_asked();  // show the whole step

 private:
  void refresh();

  Session& session_;
  ShareBar* shares_;
  FactList* time_;
  Paragraph* sentence_;
  FactList *path_, *operators_, *memory_, *recording_;
  Section path_section_, operators_section_, memory_section_, recording_section_;
};

}  // namespace foreshard::gui
