// Commands of README.md and docs/ run as they are written there: each page's, in order, in a folder that has
// the repository's examples/ and traces/, so that a page may use what it wrote before. Blocks that follow a
// comment `<!-- not run: REASON -->` are left out: they need a GPU, PyTorch, a display or files of the reader's.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = FORESHARD_SOURCE_DIR;
const std::string kProgram = "foreshard ";

// Without `foreshard`; a line that ends with a backslash goes on.
std::vector<std::string> commands_of(const fs::path& page) {
  std::ifstream text(page);
  std::vector<std::string> commands;
  bool is_fenced = false, is_run = true, continues = false;
  std::string above;  // the last line before the block that is not empty
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) {
      is_fenced = !is_fenced;
      is_run = !above.starts_with("<!-- not run: ");
      above.clear();
    } else if (!is_fenced) {
      if (!line.empty()) above = line;
    } else if (is_run && (continues || line.starts_with(kProgram))) {
      if (!continues) commands.emplace_back();
      continues = line.ends_with('\\');
      if (commands.back().empty()) line.erase(0, kProgram.size());
      commands.back() += line.substr(0, line.size() - (continues ? 1 : 0));
    }
  }
  return commands;
}

std::vector<std::string> pages() {
  std::vector<std::string> found{"README.md"};
  for (const auto& page : fs::directory_iterator(kSource / "docs")) {
    const std::string name = "docs/" + page.path().filename().string();
    if (name.ends_with(".md") && !commands_of(page.path()).empty()) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Pages : public testing::TestWithParam<std::string> {};

TEST_P(Pages, CommandsRunAsWritten) {
  const Workplace place;
  for (const char* folder : {"examples", "traces"}) {
    fs::create_directory_symlink(kSource / folder, place.path(folder));
  }
  const std::vector<std::string> commands = commands_of(kSource / GetParam());
  ASSERT_FALSE(commands.empty());
  for (const std::string& command : commands) {
    const Outcome outcome = place.shell("\"$FORESHARD\" " + command);
    EXPECT_EQ(outcome.status, 0) << "foreshard " << command << "\n" << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Docs, Pages, testing::ValuesIn(pages()), [](const auto& page) {
  std::string name = fs::path(page.param).stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace foreshard::cli_tests
