// SIGTERM and SIGINT close the windows as their user would.
#pragma once

namespace foreshard::gui {

// Needs a QApplication; once in a program.
void close_on_signals();
// Whether that is under way: nobody is there to be asked.
bool is_ending_by_signal();

}  // namespace foreshard::gui
