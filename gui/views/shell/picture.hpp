// Pictures of a window without anybody at it: as pixels (PNG) or as shapes (SVG), by the file's name.
#pragma once

#include <QWidget>
#include <string>

#include "models/base/error.hpp"

namespace foreshard::gui {

// Of the size that the widget has.
Result<void> write_picture(QWidget& widget, const std::string& path);

// An error where the name ends in neither.
Result<void> check_picture_name(const std::string& path);

}  // namespace foreshard::gui
