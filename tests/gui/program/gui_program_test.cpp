// The program foreshard-gui as a shell runs it: without a display, with files and options that are
// wrong, and under a display of its own with keys, the mouse and SIGTERM.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::gui {
namespace {

class GuiProgram : public testing::Test {
 protected:
  struct Outcome {
    int status = 0;
    std::string out, err;
  };

  // Lines of bash in the test's folder; $VIEWER is the program, $SAMPLES the folder of recordings.
  Outcome shell(const std::string& lines) const {
    tests::write_file(folder_.path("script"), lines);
    const std::string command = "cd '" + folder_.path("") +
                                "' && env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM "
                                "HOME=\"$PWD\" XDG_CONFIG_HOME=\"$PWD\" VIEWER='" FORESHARD_VIEWER
                                "' "
                                "SAMPLES='" FORESHARD_SOURCE_DIR
                                "/traces/samples' timeout 90 bash script >out 2>err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, tests::read_file(folder_.path("out")),
            tests::read_file(folder_.path("err"))};
  }

  bool has_display_tools() const {
    return shell("command -v Xvfb && command -v xdotool").status == 0;
  }
  // Under a display of its own, which goes with the shell.
  Outcome shell_with_display(const std::string& lines) const {
    return shell(R"(
    Xvfb -displayfd 3 -screen 0 1600x1000x24 3>display 2>/dev/null &
    server=$!
    trap 'kill $server' EXIT
    until [[ -s display ]]; do sleep 0.05; done
    export DISPLAY=:$(cat display)
)" + lines);
  }

  tests::TemporaryFolder folder_;
};

TEST_F(GuiProgram, EndsInASentenceWithoutADisplay) {
  const Outcome outcome = shell("\"$VIEWER\"");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err.rfind("foreshard-gui: error: there is no display", 0), 0U) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

TEST_F(GuiProgram, DescribesItselfWithoutADisplay) {
  EXPECT_EQ(shell("\"$VIEWER\" --help").out.rfind("Usage: foreshard-gui", 0), 0U);
  EXPECT_EQ(shell("\"$VIEWER\" --version").out.rfind("foreshard-gui ", 0), 0U);
}

TEST_F(GuiProgram, RefusesWhatItCannotUse) {
  for (const char* arguments : {"--nonsense", "--view sideways", "--render", "--size 0x9 run.fst",
                                "--range 9..1 run.fst", "--render a.png absent.fst"}) {
    const Outcome outcome = shell(std::string("\"$VIEWER\" ") + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.err.rfind("foreshard-gui: error: ", 0), 0U) << outcome.err;
  }
  EXPECT_NE(shell("\"$VIEWER\" --render a.png absent.fst").err.find("absent.fst"),
            std::string::npos);
}

TEST_F(GuiProgram, DrawsWithoutADisplay) {
  const Outcome outcome = shell(
      "\"$VIEWER\" --render a.png --size 900x700 \"$SAMPLES/run.fst.gz\" && "
      "\"$VIEWER\" --render a.svg --view memory --theme dark \"$SAMPLES/run.fst.gz\" && "
      "head -c 4 a.png | tail -c 3 && grep -c '<svg' a.svg");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "PNG1\n");
}

TEST_F(GuiProgram, TakesKeysAndEndsOnSigterm) {
  if (!has_display_tools()) GTEST_SKIP() << "Xvfb or xdotool is not installed";
  const Outcome outcome = shell_with_display(R"(
    "$VIEWER" "$SAMPLES/run.fst.gz" &
    viewer=$!
    until window=$(xdotool search --onlyvisible --name oreshard 2>/dev/null); do
      kill -0 $viewer || exit 3
      sleep 0.05
    done
    for key in w a s d f slash m Escape question Escape ctrl+2 ctrl+3 ctrl+4 ctrl+1 F4 ctrl+j; do
      xdotool key --window "${window%%$'\n'*}" $key
    done
    xdotool mousemove 700 400 click 1 click 4 click 5 mousedown 1 mousemove 800 420 mouseup 1
    kill -0 $viewer || exit 4
    kill -TERM $viewer
    wait $viewer
  )");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

// From the first start with nothing kept to the second one, by the keys that the help names.
TEST_F(GuiProgram, SomebodyNewFindsTheirWay) {
  if (!has_display_tools()) GTEST_SKIP() << "Xvfb or xdotool is not installed";
  const Outcome outcome = shell_with_display(R"(
    window_called() {  # until there is one
      for n in {1..300}; do
        window=$(xdotool search --onlyvisible --name "$1" 2>/dev/null | head -n 1)
        [[ -n $window ]] && xdotool windowfocus "$window" 2>/dev/null && return
        kill -0 $viewer || exit 3
        sleep 0.1
      done
      echo "no window is called $1" >&2; exit 4
    }
    "$VIEWER" & viewer=$!
    window_called 'predicted.fst.gz - Foreshard'; echo example
    xdotool key question sleep 0.3 key Escape
    xdotool key ctrl+shift+p sleep 0.3 type 'dark theme'
    xdotool sleep 0.3 key Return
    for key in ctrl+2 ctrl+3 ctrl+4 ctrl+1 F4 ctrl+j ctrl+plus; do xdotool key $key sleep 0.2; done
    xdotool key ctrl+o; window_called 'Open traces'
    xdotool type "$SAMPLES/run.fst.gz"; xdotool key Return
    window_called '^run.fst.gz - Foreshard'; echo opened
    kill -TERM $viewer; wait $viewer || exit 5
    cat foreshard/viewer.ini
    "$VIEWER" & viewer=$!
    window_called '^Foreshard$'; echo empty
    kill -TERM $viewer; wait $viewer
  )");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words : {"example\n", "opened\n", "empty\n", "theme=dark", "text_scale=1.1",
                            "inspector=false", "run.fst.gz"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << '\n' << outcome.out;
  }
}

}  // namespace
}  // namespace foreshard::gui
