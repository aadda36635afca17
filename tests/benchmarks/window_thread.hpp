// What benchmarks of views share: the application on the offscreen platform, and how long turns of
// its event loop take.
#pragma once

#include <QApplication>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "gui/paint/style.hpp"

namespace foreshard::gui {

inline QApplication& application() {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  static int count = 1;
  static char name[] = "benchmark";
  static char* arguments[] = {name, nullptr};
  static auto* const made = [] {
    auto* const application = new QApplication(count, arguments);
    apply_style(*application);
    return application;
  }();
  return *made;
}

inline double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// What a thread or all of them computed, in milliseconds: it tells the same on a machine that others
// keep busy.
inline double cpu_ms(clockid_t of) {
  timespec now{};
  ::clock_gettime(of, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}
inline double thread_cpu_ms() {
  return cpu_ms(CLOCK_THREAD_CPUTIME_ID);
}
inline double process_cpu_ms() {
  return cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
}

inline double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// Turns the event loop until `is_done` has held at the begin of a turn; how long each turn took goes
// into `turns`.
template <class Condition>
void settle(const Condition& is_done, std::vector<double>& turns) {
  bool was_done = false;
  do {
    was_done = is_done();
    const auto turn = std::chrono::steady_clock::now();
    QApplication::processEvents();
    turns.push_back(ms_since(turn));
  } while (!was_done);
}

}  // namespace foreshard::gui
