// Work on other threads gives way to the window's, so that frames do not wait for it where there are
// few processors.
#pragma once

#include <QtConcurrentRun>
#include <utility>

namespace foreshard::gui {

// Called by a thread of a pool: from now on it gets about a third of a processor where the window's
// thread wants it too, and all of it otherwise.
void give_way_to_window();

// A future of what `work` returns, from Qt's pool of threads.
template <class Work>
auto in_background(Work work) {
  return QtConcurrent::run([work = std::move(work)]() mutable {
    give_way_to_window();
    return work();
  });
}

}  // namespace foreshard::gui
