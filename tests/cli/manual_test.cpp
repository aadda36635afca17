// The manual pages are whole, and man's formatter has nothing to say against them.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

TEST(Manual, EveryCommandHasAPageWithAllItsOptions) {
  const Workplace place;
  std::filesystem::create_directory(place.path("man"));
  ASSERT_EQ(place.run({"manual", "--all", "man"}).status, 0);
  const std::string program = place.read("man/foreshard.1");
  int pages = 0;
  for (const auto& file : std::filesystem::directory_iterator(place.path("man"))) {
    const std::string name = file.path().stem().string();
    if (name == "foreshard") continue;
    ++pages;
    const std::string command = name.substr(std::string("foreshard-").size());
    EXPECT_NE(program.find("foreshard\\-" + command + " (1)"), std::string::npos) << command;
    const std::string page = place.read("man/" + name + ".1");
    EXPECT_EQ(place.run({"manual", command}).out, page);
    for (const char* section : {".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXAMPLES"}) {
      EXPECT_NE(page.find(section), std::string::npos) << command << section;
    }
  }
  EXPECT_GE(pages, 15);
  EXPECT_NE(place.read("man/foreshard-predict.1").find("\\-\\-machine MACHINE"), std::string::npos);
}

TEST(Manual, IsAcceptedByTheFormatter) {
  const Workplace place;
  if (place.shell("command -v groff").status != 0)
    GTEST_SKIP() << "needs groff (package groff-base of Debian)";
  std::filesystem::create_directory(place.path("man"));
  const Outcome outcome = place.shell(
      "\"$FORESHARD\" manual --all man && for page in man/*.1; do groff -man -Tascii -ww -z $page; "
      "done");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(Manual, NamesAnUnknownCommand) {
  const Workplace place;
  const Outcome outcome = place.run({"manual", "predic"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("did you mean 'predict'?"), std::string::npos) << outcome.err;
  EXPECT_EQ(place.run({"manual", "predict", "--all", "."}).status, 2);
  EXPECT_NE(place.run({"manual", "--all", "nowhere"}).status, 0);
}

}  // namespace
}  // namespace foreshard::cli_tests
