// Windows and files of the shell's tests.
#pragma once

#include <QTest>

#include <gtest/gtest.h>

#include "gui/views/shell/main_window.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::gui {

constexpr int kSecondsMs = 120'000;  // a sanitizer on a busy machine

class ShellTest : public testing::Test {
 protected:
  // A small trace of a run under that name.
  std::string write_trace(const std::string& name, const traces::Trace& trace) const {
    const std::string path = folder_.path(name);
    const auto written = traces::write_fst(path, trace);
    EXPECT_TRUE(written) << written.error().text();
    return path;
  }
  std::string write_trace(const std::string& name = "run.fst") const {
    return write_trace(name, traces::sample_trace());
  }

  static void wait(MainWindow& window) {
    EXPECT_TRUE(QTest::qWaitFor([&] { return !window.is_busy(); }, kSecondsMs));
  }
  static void open(MainWindow& window, const std::string& path) {
    window.open({QString::fromStdString(path)});
    wait(window);
  }

  tests::TemporaryFolder folder_;
};

inline std::string sample(const std::string& name) {
  return FORESHARD_SOURCE_DIR "/traces/samples/" + name;
}

}  // namespace foreshard::gui
