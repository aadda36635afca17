// The window without anybody at it: opened, waited for, drawn to a file or timed.
#pragma once

#include <QWidget>
#include <string>

#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/viewer_options.hpp"
#include "models/base/error.hpp"

namespace foreshard::gui {

// Pictures of a window without anybody at it: as pixels (PNG) or as shapes (SVG), by the file's name.
// Of the size that the widget has.
Result<void> write_picture(QWidget& widget, const std::string& path);

// An error where the name ends in neither.
Result<void> check_picture_name(const std::string& path);

// Gives the window its size, view and range, and its files to read.
void prepare(MainWindow& window, const ViewerOptions& options);

// Opens the files, waits until all is computed, and writes the picture, the description and the timings that were
// asked for. The error is of the first file that cannot be read, or of what cannot be written.
Result<void> run_unattended(MainWindow& window, const ViewerOptions& options);

}  // namespace foreshard::gui
