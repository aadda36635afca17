#include "gui/models/base/in_background.hpp"

#include <sys/resource.h>

namespace foreshard::gui {

void give_way_to_window() {
  constexpr int kNiceness = 5;
  // On Linux this is of the calling thread alone. Where it is refused, work is as urgent as frames.
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNiceness));
}

}  // namespace foreshard::gui
