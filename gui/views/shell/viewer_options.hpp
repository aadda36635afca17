// The command line of foreshard-gui.
#pragma once

#include <QSize>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/paint/theme.hpp"
#include "models/base/error.hpp"
#include "traces/import_options.hpp"
#include "traces/intervals.hpp"

namespace foreshard::gui {

struct ViewerOptions {
  std::vector<std::string> files;
  std::string picture;      // --render; empty: a window
  std::string timings;      // --timings; empty: none
  std::string description;  // --describe; empty: none, -: standard output
  int view = -1;            // index into MainWindow::views(); -1: what fits the files
  QSize size = {1600, 1000};
  bool has_size = false;
  std::optional<ThemeName> theme;
  std::optional<traces::Interval> range;
  std::optional<traces::StepRange> steps;  // nothing: all
  bool shows_help = false;
  bool shows_version = false;

  bool needs_display() const { return picture.empty() && timings.empty() && description.empty(); }
};

Result<ViewerOptions> parse_viewer_options(const std::vector<std::string>& arguments);

// As `--view` has it, by the index into MainWindow::views().
std::string view_name(int view);

std::string viewer_help();

}  // namespace foreshard::gui
