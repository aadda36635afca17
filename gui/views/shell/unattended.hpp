// The window without anybody at it: opened, waited for, drawn to a file or timed.
#pragma once

#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/viewer_options.hpp"

namespace foreshard::gui {

// Gives the window its size, view and range, and its files to read.
void prepare(MainWindow& window, const ViewerOptions& options);

// Opens the files, waits until all is computed, and writes the picture, the description and the timings that were
// asked for. The error is of the first file that cannot be read, or of what cannot be written.
Result<void> run_unattended(MainWindow& window, const ViewerOptions& options);

}  // namespace foreshard::gui
