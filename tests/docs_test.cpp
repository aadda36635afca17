// README.md and the pages of docs/ show what the program prints, README.md stays short, links lead to
// files that are there, and pages and reports are written in the words of CONTRIBUTING.md.
//
// A block that follows a comment `<!-- golden: CASE -->` is compared with that case of
// tests/golden/reports, or replaced by it where FORESHARD_GOLDEN_UPDATE is set (scripts/golden --update).
// Its first line may be the command, `$ foreshard ...`, which must be the case's; lines `...` stand for any
// number of lines that are left out, and such a block is updated by hand.
#include <algorithm>
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
const fs::path kReports = kRoot / "tests/golden/reports";
const std::string kCut = "...";
const std::vector<std::string> kFolders{"cli",     "docs",      "examples", "executor",
                                        "gui",     "models",    "profiler", "python",
                                        "scripts", "simulator", "tests",    "traces"};

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// README.md and what lies in docs/ itself.
std::vector<fs::path> pages() {
  std::vector<fs::path> found{kRoot / "README.md"};
  for (const auto& page : fs::directory_iterator(kRoot / "docs")) {
    if (page.path().extension() == ".md") found.push_back(page.path());
  }
  return found;
}

std::string command_of(const std::string& name) {
  const std::string commands = text_of(kReports / name / "command");
  const auto last = commands.rfind('\n', commands.size() - 2);
  return "$ foreshard " + commands.substr(last == std::string::npos ? 0 : last + 1);
}

// Whether the block is the report but for what its lines `...` leave out.
bool shows(const std::string& block, const std::string& report) {
  std::vector<std::string> parts(1);  // between those lines, each of whole lines
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    if (line == kCut) {
      parts.emplace_back();
    } else {
      parts.back() += line + "\n";
    }
  }
  if (parts.size() == 1) return block == report;
  if (!report.starts_with(parts.front()) || !report.ends_with(parts.back())) return false;
  std::size_t at = parts.front().size();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto found = ("\n" + report).find("\n" + parts[i], at);
    if (found == std::string::npos) return false;
    at = found + parts[i].size();
  }
  return true;
}

TEST(Docs, ReportsThatPagesShowAreRealOnes) {
  const std::string kMark = "<!-- golden: ", kMarkEnd = " -->\n```\n", kEnd = "```\n";
  const bool updates = std::getenv("FORESHARD_GOLDEN_UPDATE") != nullptr;
  int shown = 0;
  for (const fs::path& page : pages()) {
    std::string text = text_of(page);
    for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1)) {
      const auto name_end = text.find(kMarkEnd, at);
      ASSERT_NE(name_end, std::string::npos) << page << ": a mark without a report";
      const std::string name = text.substr(at + kMark.size(), name_end - at - kMark.size());
      auto begin = name_end + kMarkEnd.size();
      if (text.compare(begin, 2, "$ ") == 0) {
        const auto line_end = text.find('\n', begin) + 1;
        EXPECT_EQ(text.substr(begin, line_end - begin), command_of(name)) << page;
        begin = line_end;
      }
      const std::string block = text.substr(begin, text.find(kEnd, begin) - begin);
      const std::string golden = text_of(kReports / name / "stdout");
      if (("\n" + block).find("\n" + kCut + "\n") != std::string::npos) {
        EXPECT_TRUE(shows(block, golden))
            << page << ": " << name << " prints something else today:\n"
            << golden;
      } else if (updates) {
        text.replace(begin, block.size(), golden);
      } else {
        EXPECT_EQ(block, golden) << page << ": " << name << " prints something else today";
      }
      ++shown;
    }
    if (updates && text != text_of(page)) std::ofstream(page) << text;
  }
  EXPECT_GT(shown, 0);
}

TEST(Docs, ABlockMayLeaveLinesOut) {
  const std::string report = "one\ntwo\nthree\nfour\n";
  for (const char* block : {"one\ntwo\nthree\nfour\n", "one\n...\n", "one\n...\nthree\n...\n",
                            "one\n...\nfour\n", "...\nthree\nfour\n"}) {
    EXPECT_TRUE(shows(block, report)) << block;
  }
  for (const char* block : {"", "one\n", "two\n...\n", "one\n...\nthree\n", "...\nhree\nfour\n",
                            "...\nthree\n...\ntwo\n...\n"}) {
    EXPECT_FALSE(shows(block, report)) << block;
  }
}

// The front page is read in minutes; what does not fit has a page in docs/.
TEST(Docs, TheFrontPageIsShort) {
  const std::string text = text_of(kRoot / "README.md");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 150);
  std::istringstream words(text);
  int count = 0;
  for (std::string word; words >> word;) ++count;
  EXPECT_LE(count, 1500);
}

TEST(Docs, TheIndexNamesEveryPage) {
  const std::string index = text_of(kRoot / "docs/README.md");
  for (const fs::path& page : pages()) {
    const std::string name = page.filename();
    if (name == "README.md") continue;
    EXPECT_NE(index.find("](" + name + ")"), std::string::npos) << name;
  }
}

// What a folder is for, and where to begin in it.
TEST(Docs, EveryFolderHasAPage) {
  const std::string index = text_of(kRoot / "docs/development.md");
  for (const std::string& folder : kFolders) {
    const std::string page = text_of(kRoot / folder / "README.md");
    EXPECT_FALSE(page.empty()) << folder;
    EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 80) << folder;
    if (folder == "docs") continue;  // these are its pages
    EXPECT_NE(index.find("](../" + folder + "/README.md)"), std::string::npos) << folder;
  }
}

// The words that CONTRIBUTING.md's table replaces, but for those whose meaning decides.
std::vector<std::string> replaced_words() {
  const std::string text = text_of(kRoot / "CONTRIBUTING.md");
  const auto begin = text.find("| not | but |\n");
  std::istringstream rows(begin == std::string::npos ? "" : text.substr(begin));
  std::vector<std::string> found;
  std::string row;
  std::getline(rows, row) && std::getline(rows, row);
  while (std::getline(rows, row) && row.starts_with("| ")) {
    std::istringstream words(row.substr(2, row.find(" |", 2) - 2));
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
      if (words.str().find('(') == std::string::npos) found.push_back(word);
    }
  }
  return found;
}

// What of a page is prose: without blocks and pieces of code, which name files, keys and options.
std::string prose_of(const std::string& page) {
  return std::regex_replace(std::regex_replace(page, std::regex("```[^`]*```"), ""),
                            std::regex("`[^`]*`"), "");
}

TEST(Docs, PagesAndReportsUseTheFieldsWords) {
  const std::vector<std::string> words = replaced_words();
  ASSERT_GT(words.size(), 10u);
  std::string pattern;
  for (const std::string& word : words) pattern += (pattern.empty() ? "" : "|") + word;
  const std::regex replaced("\\b(" + pattern + ")\\b", std::regex::icase);
  EXPECT_TRUE(std::regex_search(prose_of("It stands there."), replaced));
  EXPECT_FALSE(std::regex_search(prose_of("`stands` ```\nstands\n``` standstill"), replaced));
  const auto check = [&](const fs::path& file, const std::string& text) {
    std::smatch found;
    if (!std::regex_search(text, found, replaced)) return;
    const std::string before = found.prefix();
    ADD_FAILURE() << file << ": \"" << found.str() << "\" after \""
                  << before.substr(before.size() - std::min<std::size_t>(60, before.size()))
                  << "\"; expected a word of CONTRIBUTING.md's table";
  };
  std::vector<fs::path> written = pages();
  for (const std::string& folder : kFolders) written.push_back(kRoot / folder / "README.md");
  for (const fs::path& page : written) check(page, prose_of(text_of(page)));
  for (const auto& report : fs::recursive_directory_iterator(kReports)) {
    const std::string name = report.path().filename();
    if (name == "stdout" || name == "stderr") check(report.path(), text_of(report.path()));
  }
}

TEST(Docs, LinksOfPagesLeadToFiles) {
  const std::regex link(R"(\]\(([^)#]+)(#[^)]*)?\))");
  int found = 0;
  std::vector<fs::path> pages;
  for (const auto& file : fs::directory_iterator(kRoot)) pages.push_back(file.path());
  for (const std::string& folder : kFolders) {
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
