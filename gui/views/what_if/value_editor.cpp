#include "gui/views/what_if/value_editor.hpp"

#include "gui/views/what_if/module_editor.hpp"
#include "gui/views/what_if/value_editors.hpp"

namespace foreshard::gui {

ValueEditor* make_editor(const PlanControl& control, QWidget* parent) {
  switch (control.kind) {
    case ControlKind::slider: return new SliderEditor(control, parent);
    case ControlKind::choice: return new ChoiceEditor(control, parent);
    case ControlKind::toggle: return new ToggleEditor(control, parent);
    case ControlKind::field: return new FieldEditor(control, parent);
    case ControlKind::outputs: return new OutputsEditor(control, parent);
    case ControlKind::modules: return new ModuleEditor(control, parent);
  }
  return nullptr;
}

}  // namespace foreshard::gui
