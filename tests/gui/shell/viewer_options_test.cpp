#include "gui/views/shell/viewer_options.hpp"

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
  const auto options = parse_viewer_options(arguments);
  return options ? "accepted" : options.error().text();
}

TEST(ViewerOptions, EverythingAtOnce) {
  const auto options = parse_viewer_options({"--render", "a.png", "--view=memory", "--size",
                                             "640x480", "--theme", "dark", "--range", "1.5ms..2s",
                                             "--steps", "5..7", "run.fst", "--", "--odd.fst"});
  ASSERT_TRUE(options) << options.error().text();
  EXPECT_EQ(options->picture, "a.png");
  EXPECT_EQ(options->view, 1);
  EXPECT_EQ(options->size, QSize(640, 480));
  EXPECT_EQ(options->theme, ThemeName::dark);
  ASSERT_TRUE(options->range);
  EXPECT_EQ(options->range->start_ns, 1'500'000);
  EXPECT_EQ(options->steps, (traces::StepRange{5, 7}));
  EXPECT_EQ(options->range->end_ns, 2'000'000'000);
  EXPECT_EQ(options->files, (std::vector<std::string>{"run.fst", "--odd.fst"}));
  EXPECT_FALSE(options->needs_display());
}

TEST(ViewerOptions, ADescriptionNeedsNoWindow) {
  const auto options = parse_viewer_options({"--describe", "-", "--view", "whatif", "run.fst"});
  ASSERT_TRUE(options) << options.error().text();
  EXPECT_EQ(options->description, "-");
  EXPECT_EQ(options->view, 2);
  EXPECT_FALSE(options->needs_display());
}

TEST(ViewerOptions, NothingIsAWindow) {
  const auto options = parse_viewer_options({});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->needs_display());
  EXPECT_EQ(options->view, -1);
  EXPECT_FALSE(options->theme);
}

TEST(ViewerOptions, WrongOnesAreRefusedInASentence) {
  EXPECT_EQ(refusal({"--nonsense"}),
            "--nonsense: is not an option; `foreshard-gui --help` lists them");
  EXPECT_EQ(refusal({"--view"}), "--view: has no value; `foreshard-gui --help` says what it takes");
  EXPECT_EQ(refusal({"--view", "plans"}),
            "--view: is \"plans\"; expected timeline, memory, whatif or compare");
  for (const char* size : {"", "640", "x", "0x10", "640x", "640x480x2", "-1x4", "99999x2"}) {
    EXPECT_NE(refusal({"--size", size}), "accepted") << size;
  }
  for (const char* range : {"", "1..", "..2", "2..1", "1..1", "1h..2h", "nan..1", "1e300..2e300"}) {
    EXPECT_NE(refusal({"--range", range}), "accepted") << range;
  }
  for (const char* steps : {"", "5", "5..", "..7", "7..5", "-1..4", "a..b", "1..99999999999"}) {
    EXPECT_NE(refusal({"--steps", steps}), "accepted") << steps;
  }
  EXPECT_EQ(refusal({"--render", "picture.jpeg"}),
            "picture.jpeg: is not the name of a picture; expected one that ends in .png or .svg");
}

}  // namespace
}  // namespace foreshard::gui
