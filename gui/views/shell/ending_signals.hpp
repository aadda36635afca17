// SIGTERM and SIGINT close the windows as their user would.
#pragma once

namespace foreshard::gui {

// Needs a QApplication; once in a program.
void close_on_signals();

}  // namespace foreshard::gui
