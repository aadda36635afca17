// foreshard-gui: the viewer.
#include <cstdio>

#include <QApplication>

#include "gui/paint/style.hpp"
#include "gui/views/shell/main_window.hpp"

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  foreshard::gui::apply_style(application);
  foreshard::gui::MainWindow window;
  for (int n = 1; n < argc; ++n) {
    auto document = foreshard::gui::open_document(argv[n]);
    if (!document) {
      std::fprintf(stderr, "foreshard-gui: error: %s\n", document.error().text().c_str());
      return 2;
    }
    window.session().add(*document);
  }
  window.resize(1600, 1000);
  window.show();
  return QApplication::exec();
}
