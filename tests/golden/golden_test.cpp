// Each folder of tests/golden/reports is a test: its command is run, and what comes of it must be
// what its files say. `scripts/golden --update` writes those files.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/cli/program_runner.hpp"
#include "tests/golden/report.hpp"

namespace foreshard::golden {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = FORESHARD_SOURCE_DIR;
const fs::path kReports = kSource / "tests/golden/reports";

bool is_update() {
  return std::getenv("FORESHARD_GOLDEN_UPDATE") != nullptr;
}

std::vector<std::string> lines_in(const fs::path& file) {
  std::istringstream text(tests::read_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

void unpack(const fs::path& packed, const fs::path& file) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(packed.c_str(), "rb"), gzclose);
  ASSERT_TRUE(in) << packed;
  std::string bytes(1 << 16, '\0'), whole;
  for (int size = 0;
       (size = gzread(in.get(), bytes.data(), static_cast<unsigned>(bytes.size()))) > 0;) {
    whole.append(bytes, 0, static_cast<std::size_t>(size));
  }
  tests::write_file(file, whole);
}

// Samples and examples lie in the folder that the program runs in, as they would for a user: no path
// of this machine is in any report.
void put_samples(const cli_tests::Workplace& place) {
  fs::copy(kSource / "traces/samples", place.path("samples"), fs::copy_options::recursive);
  fs::copy(kSource / "examples", place.path("examples"), fs::copy_options::recursive);
  for (const char* name : {"run", "no_reshard", "out_of_memory"}) {
    const fs::path packed = place.path(std::string("samples/") + name + ".fst.gz");
    unpack(packed, fs::path(packed).replace_extension());
    fs::remove(packed);
  }
}

class Golden : public testing::TestWithParam<std::string> {
 protected:
  // What came of the command, by the file that holds it.
  void expect(const fs::path& file, const std::string& actual) {
    if (is_update()) {
      fs::create_directories(file.parent_path());
      tests::write_file(file, actual);
      return;
    }
    if (!fs::exists(file)) {
      ADD_FAILURE() << file << " is missing; scripts/golden --update " << GetParam()
                    << " writes it";
      return;
    }
    const std::string found = difference(tests::read_file(file), actual);
    EXPECT_TRUE(found.empty()) << file.string() << " differs (-: kept, +: printed now):\n"
                               << found << "If that is meant: scripts/golden --update "
                               << GetParam();
  }
};

TEST_P(Golden, Report) {
  const fs::path folder = kReports / GetParam();
  const cli_tests::Workplace place;
  ASSERT_NO_FATAL_FAILURE(put_samples(place));
  if (fs::exists(folder / "in")) {
    fs::copy(folder / "in", place.path(""),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  fs::create_directory(place.path("out"));

  const std::vector<std::string> commands = lines_in(folder / "command");
  ASSERT_FALSE(commands.empty()) << folder / "command";
  cli_tests::Outcome outcome;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    outcome = place.run(words(commands[i]));
    if (i + 1 < commands.size()) {
      ASSERT_EQ(outcome.status, 0) << commands[i] << "\n" << outcome.err;
    }
  }

  // What is kept besides, and how much of it: all, so many lines, or "json", see shortened_json().
  std::map<std::string, std::string> kept = {{"stdout", ""}, {"stderr", ""}};
  if (fs::exists(folder / "files")) {
    for (const std::string& line : lines_in(folder / "files")) {
      const auto parts = words(line);
      kept[parts[0]] = parts.size() > 1 ? parts[1] : "";
    }
  }
  expect(folder / "status", std::to_string(outcome.status) + "\n");
  std::set<fs::path> known = {"command", "files", "status"};
  for (const auto& [name, part] : kept) {
    known.insert(name);
    std::string text = place.read(name);
    if (name == "stdout") text = outcome.out;
    if (name == "stderr") text = outcome.err;
    if (part == "json") {
      text = shortened_json(text);
    } else if (!part.empty()) {
      text = head(text, std::stoul(part));
    }
    expect(folder / name, normalised(text));
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path name = entry.path().lexically_relative(folder);
    if (!entry.is_regular_file() || *name.begin() == "in") continue;
    EXPECT_TRUE(known.contains(name)) << entry.path() << " is compared with nothing";
  }
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kReports)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Reports, Golden, testing::ValuesIn(cases()),
                         [](const auto& report) { return report.param; });

TEST(GoldenComparison, EqualTextsHaveNoDifference) {
  EXPECT_EQ(difference("", ""), "");
  EXPECT_EQ(difference("a\nb\n", "a\nb\n"), "");
}

TEST(GoldenComparison, AChangedWordIsShownWithWhatSurroundsIt) {
  EXPECT_EQ(difference("1\n2\n3\n4 old\n5\n6\n7\n", "1\n2\n3\n4 new\n5\n6\n7\n"),
            "@@ -2 +2 @@\n 2\n 3\n-4 old\n+4 new\n 5\n 6\n");
}

TEST(GoldenComparison, LinesThatCameAndWent) {
  EXPECT_EQ(difference("a\nb\nc\n", "a\nc\nd\n"), "@@ -1 +1 @@\n a\n-b\n c\n+d\n");
  EXPECT_EQ(difference("", "a\n"), "@@ -1 +1 @@\n+a\n");
  EXPECT_EQ(difference("a\n", ""), "@@ -1 +1 @@\n-a\n");
}

TEST(GoldenComparison, SpacesAndLineEndsCount) {
  EXPECT_NE(difference("a\n", "a \n"), "");
  EXPECT_NE(difference("a\n", "a\n\n"), "");
  EXPECT_EQ(difference("a\n", "a"), "@@ -1 +1 @@\n-a\n+a  (no line end)\n");
}

TEST(GoldenComparison, LongDifferencesAreCut) {
  std::string long_text;
  for (int i = 0; i < 10'000; ++i) long_text += std::to_string(i) + "\n";
  const std::string found = difference("", long_text);
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 41);
  EXPECT_TRUE(found.ends_with("... and 9961 more lines\n")) << found;
  // Too much for the shortest way, and still a difference.
  EXPECT_NE(difference(long_text + "x\n", "y\n" + long_text), "");
}

TEST(GoldenReport, OnlyWhatMustBeIsReplaced) {
  EXPECT_EQ(normalised("foreshard 0.1.0, SQLite 3.40.1, compiler 12.2.0"),
            "foreshard @version@, SQLite @version@, compiler @version@");
  EXPECT_EQ(normalised(R"({"prediction_ns": 123, "step_time_ns": 456})"),
            R"({"prediction_ns": "@measured@", "step_time_ns": 456})");
  const std::string text = "A step takes 1.04 s; 0.1.0 is no version.";
  EXPECT_EQ(normalised(text), text);
}

TEST(GoldenReport, WordsOfACommand) {
  EXPECT_EQ(words(R"(predict  --model 'a b' --plan "" x"y z")"),
            (std::vector<std::string>{"predict", "--model", "a b", "--plan", "", "xy z"}));
}

TEST(GoldenReport, LongArraysAreCut) {
  EXPECT_EQ(shortened_json("{\"b\":[1,2,3,4],\"a\":[{\"c\":[5,6,7,8,9]}]}"),
            "{\n  \"b\": [\n    1,\n    2,\n    3,\n    4\n  ],\n"
            "  \"a\": [\n    {\n      \"c\": [\n        5,\n        6,\n        7,\n"
            "        \"... of 5\"\n      ]\n    }\n  ]\n}\n");
  EXPECT_EQ(shortened_json("{"), "no JSON:\n{");
}

TEST(GoldenReport, HeadOfALongReport) {
  EXPECT_EQ(head("1\n2\n3\n", 2), "1\n2\n... of 3 lines\n");
  EXPECT_EQ(head("1\n2\n3\n", 3), "1\n2\n3\n");
  EXPECT_EQ(head("1\n2", 2), "1\n2");
  EXPECT_EQ(head("1\n2\n", 0), "1\n2\n");
}

}  // namespace
}  // namespace foreshard::golden
