// The program foreshard-gui as a shell runs it: without a display, with files and options that are
// wrong, and under a display of its own with keys, the mouse and SIGTERM.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::gui {
namespace {

constexpr const char* kNeedsDisplay =
    "needs Xvfb and xdotool: scripts/setup --tests --gui installs them";

class GuiProgram : public testing::Test {
 protected:
  struct Outcome {
    int status = 0;
    std::string out, err;
  };

  // Lines of bash in the test's folder; $VIEWER is the program, $FORESHARD the command line's,
  // $SAMPLES the folder of recordings.
  Outcome shell(const std::string& lines) const {
    tests::write_file(folder_.path("script"), lines);
    const std::string command = "cd '" + folder_.path("") +
                                "' && env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM "
                                "HOME=\"$PWD\" XDG_CONFIG_HOME=\"$PWD\" VIEWER='" FORESHARD_VIEWER
                                "' FORESHARD='" FORESHARD_PROGRAM
                                "' "
                                "SAMPLES='" FORESHARD_SOURCE_DIR
                                "/traces/samples' timeout 280 bash script >out 2>err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, tests::read_file(folder_.path("out")),
            tests::read_file(folder_.path("err"))};
  }

  bool has_display_tools() const {
    return shell("command -v Xvfb && command -v xdotool").status == 0;
  }
  // Under a display of its own, which goes with the shell, and is not made anew whenever no program is left.
  // In it `window_called PATTERN` waits for a window of the program $viewer, gives it the keyboard and leaves
  // its number in $window; `press_return UNTIL...` presses Return until that command succeeds, as a list that
  // completes a file's name may take the first; `save_as KEYS TITLE FILE` goes through a dialog that asks for a
  // file's name; `words FILE` are those of a picture, without blanks and commas.
  Outcome shell_with_display(const std::string& lines) const {
    return shell(R"(
    Xvfb -noreset -displayfd 3 -screen 0 1600x1000x24 3>display 2>/dev/null &
    server=$!
    trap 'kill $server' EXIT
    until [[ -s display ]]; do sleep 0.05; done
    export DISPLAY=:$(cat display)
    window_called() {
      local end=$((SECONDS + 120))
      while (( SECONDS < end )); do
        window=$(xdotool search --onlyvisible --name "$1" 2>/dev/null | head -n 1)
        [[ -n $window ]] && xdotool windowfocus "$window" 2>/dev/null && return
        kill -0 $viewer || exit 3
        sleep 0.1
      done
      echo "no window is called $1, there are:" >&2
      for window in $(xdotool search --onlyvisible --name .); do
        xdotool getwindowname $window >&2
      done
      exit 4
    }
    press_return() {
      for n in {0..199}; do
        "$@" && return
        (( n % 40 )) || xdotool sleep 0.5 key Return
        sleep 0.1
      done
      echo "no Return led to: $*" >&2; exit 7
    }
    is_open() { xdotool search --onlyvisible --name "$1" >/dev/null 2>&1; }
    save_as() {
      local main=$window
      xdotool key $1; window_called "^$2\$"
      xdotool sleep 0.5 type "$3"  # over the name that is proposed
      press_return test -s "$3"
      window=$main; xdotool windowfocus --sync $main
    }
    words() { tr '\n' ' ' <"$1" | sed 's/<[^>]*>//g' | tr -d ' ,'; }
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

// In its last words: fontconfig has some too, where it is not configured.
TEST_F(GuiProgram, RefusesWhatItCannotUse) {
  for (const char* arguments : {"--nonsense", "--view sideways", "--render", "--size 0x9 run.fst",
                                "--range 9..1 run.fst", "--render a.png absent.fst"}) {
    const Outcome outcome =
        shell(std::string("\"$VIEWER\" ") + arguments + " 2>&1 | tail -n 1; exit ${PIPESTATUS[0]}");
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out.rfind("foreshard-gui: error: ", 0), 0U) << outcome.out;
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

// A trace of any machine, and a plan: What-if has the command line's figures.
TEST_F(GuiProgram, DescribesWhatTheCommandLinePredicts) {
  const Outcome outcome = shell(R"sh(
    figures() { grep -oE '"(step_time_ns|step_time_low_ns|tokens_per_s|exposed_communication_ns)": [0-9.]+'; }
    same() {
      "$FORESHARD" predict "${@:2}" --trace run.fst --json - >predicted || exit 2
      "$FORESHARD" gui --view whatif --describe - "${1:-run.fst}" >described || exit 3
      diff <(figures <predicted) <(figures <described) && grep -c step_time_low_ns described
    }
    same '' --model llama-tiny-3m --ranks 16 --nodes 4 --machine h200
    same '' --model llama-tiny-3m --ranks 4 --machine tpu-v5p
    printf '[checkpointing]\nmode = "full"\n' >plan.toml
    same plan.toml --plan plan.toml --model llama-3.1-8b --ranks 8 --machine h100-sxm
  )sh");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "1\n1\n1\n");
}

TEST_F(GuiProgram, DescribesEveryView) {
  const Outcome outcome = shell(R"sh(
    "$FORESHARD" predict --model llama-tiny-3m --ranks 2 --trace run.fst >/dev/null || exit 2
    for view in timeline memory whatif; do
      "$VIEWER" --view $view --describe - run.fst | grep -oE '"(view|headline)": ".+"|"peak_reserved_bytes": [1-9]'
    done
    printf '{"zero_optimization": {"stage": 3}, "elasticity": {"enabled": true}}' >zero.json
    "$VIEWER" --view whatif --describe - run.fst zero.json | grep -o 'not carried over: elasticity'
    cp run.fst other.fst
    "$VIEWER" --view compare --describe compare.json run.fst other.fst
    grep -o '"step_time_error"' compare.json
  )sh");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words :
       {"\"view\": \"timeline\"", "\"view\": \"memory\"", "\"view\": \"whatif\"",
        "\"peak_reserved_bytes\"", "not carried over: elasticity", "\"step_time_error\""}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << '\n' << outcome.out;
  }
}

// Without any font or setting of the machine, and with settings of a desktop for its screen.
TEST_F(GuiProgram, DrawsTheSameWhateverFontsTheMachineHas) {
  const Outcome outcome = shell(R"sh(
    draw() { "$VIEWER" --render $1.png --size 900x700 "$SAMPLES/run.fst.gz"; }
    configure() {
      echo '<!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'"$1"'</fontconfig>' >fonts.conf
      export FONTCONFIG_FILE=$PWD/fonts.conf
    }
    screen='<edit name="rgba" mode="assign"><const>rgb</const></edit>
            <edit name="hintstyle" mode="assign"><const>hintfull</const></edit>'
    draw machine
    configure ''; draw none
    configure "<match target='pattern'>$screen</match><match target='font'>$screen</match>"; draw screen
    cmp machine.png none.png && cmp none.png screen.png
  )sh");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

TEST_F(GuiProgram, TakesKeysAndEndsOnSigterm) {
  if (!has_display_tools()) GTEST_SKIP() << kNeedsDisplay;
  const Outcome outcome = shell_with_display(R"sh(
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
  )sh");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

// From the first start with nothing kept to the second one, by the keys that the help names.
TEST_F(GuiProgram, SomebodyNewFindsTheirWay) {
  if (!has_display_tools()) GTEST_SKIP() << kNeedsDisplay;
  const Outcome outcome = shell_with_display(R"sh(
    "$VIEWER" & viewer=$!
    window_called 'predicted.fst.gz - Foreshard'; echo example
    xdotool key question sleep 0.3 key Escape
    xdotool key ctrl+shift+p sleep 0.3 type 'dark theme'
    xdotool sleep 0.3 key Return
    for key in ctrl+2 ctrl+3 ctrl+4 ctrl+1 F4 ctrl+j ctrl+plus; do xdotool key $key sleep 0.2; done
    xdotool key ctrl+o; window_called 'Open traces'
    xdotool type "$SAMPLES/run.fst.gz"; press_return is_open '^run.fst.gz - Foreshard'
    window_called '^run.fst.gz - Foreshard'; echo opened
    kill -TERM $viewer; wait $viewer || exit 5
    cat foreshard/viewer.ini
    "$VIEWER" & viewer=$!
    window_called '^Foreshard$'; echo empty
    kill -TERM $viewer; wait $viewer
  )sh");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words : {"example\n", "opened\n", "empty\n", "theme=dark", "text_scale=1.1",
                            "inspector=false", "run.fst.gz"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << '\n' << outcome.out;
  }
}

// The clock of memory and the walk along differences are heard from wherever the keyboard is.
TEST_F(GuiProgram, MemoryAndCompareAreExploredByMouseAndKeys) {
  if (!has_display_tools()) GTEST_SKIP() << kNeedsDisplay;
  const Outcome outcome = shell_with_display(R"sh(
    "$VIEWER" "$SAMPLES/run.fst.gz" "$SAMPLES/no_reshard.fst.gz" & viewer=$!
    window_called 'no_reshard.fst.gz - Foreshard'
    xdotool windowsize --sync $window 1360 768
    xdotool key ctrl+2 sleep 1 mousemove 500 330 click 1 key k sleep 0.3
    save_as ctrl+shift+s 'Save a picture' device.svg
    xdotool mousemove 1290 718 click 1 sleep 0.3 key t sleep 1  # with the keyboard on a button
    save_as ctrl+shift+s 'Save a picture' host.svg
    xdotool key ctrl+4 sleep 2 mousemove 100 604 click 1 sleep 0.3 key bracketright sleep 0.5
    save_as ctrl+shift+s 'Save a picture' compare.svg
    kill -TERM $viewer; wait $viewer || exit 5
    cmp -s device.svg host.svg && exit 6
    words device.svg; words compare.svg
  )sh");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* word : {"Peak", "Owners", "Whatexplains", "Everypair"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
  }
}

// A slider is dragged, the plan saved; the command line predicts from the file what the window shows.
TEST_F(GuiProgram, APlanThatWasMovedAndSavedIsPredictedAsShown) {
  if (!has_display_tools()) GTEST_SKIP() << kNeedsDisplay;
  const Outcome outcome = shell_with_display(R"sh(
    predict() { "$FORESHARD" predict --model llama-tiny-3m --ranks 2 --machine h100-sxm "$@"; }
    predict --trace run.fst >/dev/null || exit 2
    "$VIEWER" run.fst & viewer=$!
    window_called 'run.fst - Foreshard'
    xdotool windowsize --sync $window 1360 768
    xdotool key ctrl+3 sleep 1 key p mousemove 134 273 mousedown 1 mousemove 250 273
    xdotool mousemove 304 273 mouseup 1 sleep 0.5 key ctrl+z sleep 0.3 key ctrl+shift+z sleep 1
    save_as ctrl+s 'Save plan' saved.toml
    save_as ctrl+shift+s 'Save a picture' what_if.svg
    xdotool mousemove 304 273 mousedown 1 mousemove 134 273 mouseup 1 sleep 0.5
    kill -TERM $viewer; wait $viewer || exit 5  # asks nobody about that
    grep -q 'micro_batch = 8' saved.toml || exit 6
    figure=$(predict --plan saved.toml | grep -o '[0-9]* tokens/s')
    words what_if.svg | grep -o "${figure/ /}" | head -n 1
  )sh");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("tokens/s"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace foreshard::gui
