// The look of plain widgets: Fusion with the theme's palette and one style sheet.
#pragma once

class QApplication;

namespace foreshard::gui {

// Sets fonts, palette and style, now and whenever the appearance changes.
void apply_style(QApplication& application);

}  // namespace foreshard::gui
