// Bytes of plain and gzip files, and the lines in them.
#include "traces/input/byte_source.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/temporary_folder.hpp"
#include "traces/input/line_reader.hpp"

namespace foreshard::traces {
namespace {

std::string gzipped(const tests::TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.path("packed.gz");
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

std::vector<std::string> lines_of(ByteSource& bytes, std::string& incomplete_reason) {
  LineReader reader(bytes);
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) lines.emplace_back(line);
  incomplete_reason = reader.incomplete_reason();
  return lines;
}

TEST(ByteSource, PlainAndGzipFilesAreReadAlike) {
  const tests::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "line " + std::to_string(i) + "\n";
  text += "the last one, without its end";
  for (const std::string& path : {folder.write("plain", text), gzipped(folder, text)}) {
    const auto bytes = open_bytes(path, "text");
    ASSERT_TRUE(bytes) << bytes.error().text();
    std::string incomplete_reason;
    const auto lines = lines_of(**bytes, incomplete_reason);
    EXPECT_EQ(incomplete_reason, "");
    ASSERT_EQ(lines.size(), 200'001u);
    EXPECT_EQ(lines[123'456], "line 123456");
    EXPECT_EQ(lines.back(), "the last one, without its end");
    EXPECT_EQ(*first_bytes(path, 6, "text"), "line 0");
  }
  EXPECT_EQ(*first_bytes(folder.write("short", "ab"), 6, "text"), "ab");
}

TEST(ByteSource, WhatCannotBeOpenedIsNamed) {
  const tests::TemporaryFolder folder;
  for (const auto& [path, words] : {std::pair(folder.path("none"), "no such file; expected text"),
                                    {folder.path("."), "is a folder; expected text"}}) {
    for (const std::string& message :
         {open_bytes(path, "text").error().text(), first_bytes(path, 1, "text").error().text()}) {
      EXPECT_NE(message.find(words), std::string::npos) << message;
    }
  }
}

// 64 kB that would be gigabytes end early, and say so.
TEST(ByteSource, NothingInflatesWithoutBound) {
  const tests::TemporaryFolder folder;
  const auto bytes = open_bytes(gzipped(folder, std::string(std::size_t{100} << 20, 'a')), "text");
  ASSERT_TRUE(bytes);
  std::string part(1 << 20, '\0');
  std::size_t size = 0, read = 0;
  while ((read = (*bytes)->read(part.data(), part.size())) == part.size()) size += read;
  EXPECT_LE(size, std::size_t{66} << 20);
  EXPECT_NE((*bytes)->incomplete_reason().find("times its size"), std::string::npos);
}

TEST(LineReader, AnEndlessLineIsTrouble) {
  const std::string endless = "first\n" + std::string(LineReader::kLongest + 1, 'a') + "\nlast\n";
  std::string incomplete_reason;
  const auto bytes = bytes_in_memory(endless);
  EXPECT_EQ(lines_of(*bytes, incomplete_reason), std::vector<std::string>{"first"});
  EXPECT_EQ(incomplete_reason, "is longer than 64 MiB");
}

TEST(LineReader, KnowsWhatIsALine) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"", {}}, {"\n", {""}}, {"a", {"a"}}, {"a\n", {"a"}}, {"a\n\nb", {"a", "", "b"}}};
  for (const auto& [text, lines] : cases) {
    std::string incomplete_reason;
    const auto bytes = bytes_in_memory(text);
    EXPECT_EQ(lines_of(*bytes, incomplete_reason), lines) << text;
    EXPECT_EQ(incomplete_reason, "");
  }
}

}  // namespace
}  // namespace foreshard::traces
