#include "gui/views/shell/frame_times.hpp"

#include "gui/views/timeline/frame_tour.hpp"

namespace foreshard::gui {

QJsonObject frame_times(MainWindow& window) {
  const FrameTimes times = tour_frames(window.timeline(), window.session().axis());
  return {{QLatin1String("frame_ms_median"), times.at(0.5)},
          {QLatin1String("frame_ms_p95"), times.at(0.95)},
          {QLatin1String("frame_ms_p99"), times.at(0.99)},
          {QLatin1String("frame_ms_worst"), times.at(1)}};
}

}  // namespace foreshard::gui
