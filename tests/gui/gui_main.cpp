// main() of the viewer's tests: an application without a display, in the viewer's style.
#include <QApplication>
#include <QStandardPaths>

#include <gtest/gtest.h>

#include "gui/paint/style.hpp"

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);  // settings of the person who runs the tests stay as they are
  QApplication application(argc, argv);
  foreshard::gui::apply_style(application);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
