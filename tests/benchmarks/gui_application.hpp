// The application that benchmarks of widgets share: one a program, without a display.
#pragma once

#include <QApplication>

#include "gui/paint/style.hpp"

namespace foreshard::gui {

inline QApplication& benchmark_application() {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  static int count = 1;
  static char name[] = "benchmark";
  static char* arguments[] = {name, nullptr};
  static QApplication* const application = [] {
    auto* made = new QApplication(count, arguments);
    apply_style(*made);
    return made;
  }();
  return *application;
}

}  // namespace foreshard::gui
