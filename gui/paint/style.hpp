// The look of plain widgets: Fusion with the theme's palette and one style sheet.
#pragma once

class QApplication;

namespace foreshard::gui {

// Sets fonts, palette and style, now and whenever the appearance changes.
void apply_style(QApplication& application);

// Whether the system's windows were dark when the style was applied. Qt 6.4 does not tell the system's
// scheme: the palette does that the application began with.
bool system_is_dark();

}  // namespace foreshard::gui
