// Reports that pages of docs/ show are what the program prints: each that follows a comment
// `<!-- golden: CASE -->` is compared with that case of tests/golden/reports, or replaced by it where
// FORESHARD_GOLDEN_UPDATE is set (scripts/golden --update). Links of pages lead to files that are there.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

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

TEST(Docs, LinksOfPagesLeadToFiles) {
  const std::regex link(R"(\]\(([^)#]+)(#[^)]*)?\))");
  int found = 0;
  std::vector<fs::path> pages;
  for (const auto& file : fs::directory_iterator(kRoot)) pages.push_back(file.path());
  for (const char* folder : {"docs", "gui", "models", "scripts", "tests", "traces"}) {
    for (const auto& file : fs::recursive_directory_iterator(kRoot / folder)) {
      pages.push_back(file.path());
    }
  }
  for (const fs::path& page : pages) {
    if (page.extension() != ".md") continue;
    const std::string text = text_of(page);
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string to = (*at)[1];
      if (to.find("://") != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(page.parent_path() / to)) << page << ": " << to;
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

}  // namespace
