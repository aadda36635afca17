// `foreshard gui` starts the viewer that stands beside it, else the one in PATH.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

// A copy of the program, so that the viewer of this build does not stand beside it.
constexpr const char* kCopy = "mkdir -p bin tools && cp \"$FORESHARD\" bin/foreshard && ";

TEST(Gui, StartsTheViewerBesideTheProgram) {
  const Workplace place;
  place.write("viewer", "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 3\n");
  const Outcome outcome = place.shell(std::string(kCopy) +
                                      "cp viewer bin/foreshard-gui && chmod +x bin/foreshard-gui "
                                      "&& bin/foreshard gui run.fst 'a b'");
  EXPECT_EQ(outcome.out, "<--><run.fst><a b>");
  EXPECT_EQ(outcome.status, 3);
}

TEST(Gui, StartsTheViewerOfThePath) {
  const Workplace place;
  place.write("viewer", "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
  const Outcome outcome =
      place.shell(std::string(kCopy) +
                  "cp viewer tools/foreshard-gui && chmod +x tools/foreshard-gui && "
                  "PATH=\"$PWD/tools:$PATH\" bin/foreshard gui");
  EXPECT_EQ(outcome.out, "<-->");
  EXPECT_EQ(outcome.status, 0);
}

TEST(Gui, IsMissedInOneSentence) {
  const Workplace place;
  const Outcome outcome = place.shell(std::string(kCopy) + "PATH=\"$PWD/tools\" bin/foreshard gui");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("foreshard-gui: was not built or installed; expected"),
            std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace foreshard::cli_tests
