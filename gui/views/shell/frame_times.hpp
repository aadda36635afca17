// How long the frames of a fixed tour take, in milliseconds by the names that `--timings` writes.
#pragma once

#include <QJsonObject>

#include "gui/views/shell/main_window.hpp"

namespace foreshard::gui {

QJsonObject frame_times(MainWindow& window);

}  // namespace foreshard::gui
