// Reports that pages of docs/ show are what the program prints: each that follows a comment
// `<!-- golden: CASE -->` is compared with that case of tests/golden/reports, or replaced by it where
// FORESHARD_GOLDEN_UPDATE is set (scripts/golden --update).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = FORESHARD_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Docs, ReportsThatPagesShowAreRealOnes) {
  const std::string kMark = "<!-- golden: ", kMarkEnd = " -->\n```\n", kEnd = "```\n";
  const bool updates = std::getenv("FORESHARD_GOLDEN_UPDATE") != nullptr;
  int shown = 0;
  for (const auto& page : fs::directory_iterator(kRoot / "docs")) {
    std::string text = text_of(page.path());
    for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1)) {
      const auto name_end = text.find(kMarkEnd, at);
      ASSERT_NE(name_end, std::string::npos) << page.path() << ": a mark without a report";
      const std::string name = text.substr(at + kMark.size(), name_end - at - kMark.size());
      const auto begin = name_end + kMarkEnd.size();
      const std::string report = text.substr(begin, text.find(kEnd, begin) - begin);
      const std::string golden = text_of(kRoot / "tests/golden/reports" / name / "stdout");
      if (updates) {
        text.replace(begin, report.size(), golden);
      } else {
        EXPECT_EQ(report, golden) << page.path() << ": " << name << " prints something else today";
      }
      ++shown;
    }
    if (updates && text != text_of(page.path())) std::ofstream(page.path()) << text;
  }
  EXPECT_GT(shown, 0);
}

}  // namespace
