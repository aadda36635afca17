// Files as strangers have them: every recording there is, whole and cut at random, through the viewer's
// reader. Each becomes a document or is refused in a sentence that names it.
#include <filesystem>
#include <random>

#include "gui/models/session/sentences.hpp"
#include "tests/gui/shell/shell_fixture.hpp"
#include "tests/outside_data.hpp"

namespace foreshard::gui {
namespace {

namespace fs = std::filesystem;

class OpeningAnyFile : public ShellTest {
 protected:
  // Whether it was opened.
  static bool try_out(const std::string& path) {
    const Result<DocumentPtr> document = open_document(path);
    if (document) {
      for (const Statement& statement : warnings(**document)) {
        EXPECT_TRUE(statement.text.endsWith(QLatin1Char('.'))) << statement.text.toStdString();
      }
      static_cast<void>(status_of(**document));
      return true;
    }
    const std::string sentence = error_text(document.error()).toStdString();
    const std::string name = fs::path(path).filename().string();
    EXPECT_NE(sentence.find(name), std::string::npos) << sentence;
    EXPECT_TRUE(sentence.ends_with('.')) << sentence;
    EXPECT_FALSE(sentence.ends_with("..")) << sentence;
    return false;
  }

  void try_out_damaged(const std::string& whole, std::mt19937& random) const {
    const std::string bytes = tests::read_file(whole);
    const std::string name = "cut " + fs::path(whole).filename().string();
    const auto below = [&](std::size_t end) {
      return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
    };
    for (int n = 0; n < 3; ++n) {
      try_out(folder_.write(name, bytes.substr(0, below(bytes.size()))));
      std::string noisy = bytes;
      for (int flips = 0; flips < 20; ++flips) {
        char& byte = noisy[below(bytes.size())];
        byte = static_cast<char>(byte ^ (1 << below(8)));
      }
      try_out(folder_.write(name, noisy));
    }
  }
};

TEST_F(OpeningAnyFile, OfTheSamples) {
  std::mt19937 random(5);
  for (const auto& entry : fs::directory_iterator(FORESHARD_SOURCE_DIR "/traces/samples")) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    const bool is_recording = path.find(".fst") != std::string::npos ||
                              path.find("history") != std::string::npos ||
                              path.ends_with(".sqlite") || path.ends_with(".pickle");
    EXPECT_EQ(try_out(path), is_recording) << path;
    try_out_damaged(path, random);
  }
}

TEST_F(OpeningAnyFile, OfTheRecordingsBesideThisFolder) {
  const fs::path folder = tests::outside_data("traces");
  if (!fs::is_directory(folder)) GTEST_SKIP() << tests::missing(folder);
  std::mt19937 random(6);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    constexpr std::uintmax_t kLargest = 1 << 20;  // larger ones take a sanitizer too long
    if (!entry.is_regular_file() || entry.file_size() > kLargest) continue;
    try_out(entry.path().string());
    try_out_damaged(entry.path().string(), random);
  }
}

}  // namespace
}  // namespace foreshard::gui
