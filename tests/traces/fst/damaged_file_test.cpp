// Truncated and bit-flipped traces: an error, or what can be saved with the loss counted.
#include <random>

#include <gtest/gtest.h>

#include "profiler/analysis/analysis.hpp"
#include "profiler/report/analysis_report.hpp"
#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/sqlite/untrusted_database.hpp"

namespace foreshard::traces {
namespace {

Trace large_trace() {
  Trace trace = sample_trace();
  const EventList events = trace.events;
  for (int i = 0; i < 300; ++i) trace.events.append(events.begin(), events.end());
  sort(trace);
  return trace;
}

class DamagedFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_fst(folder_.path("a.fst"), trace_));
    bytes_ = read_file(folder_.path("a.fst"));
  }

  // Reads damaged bytes; what is saved must not claim to be whole unless it is.
  bool is_saved(const std::string& damaged) {
    write_file(folder_.path("b.fst"), damaged);
    const auto read = read_fst(folder_.path("b.fst"));
    if (!read) {
      EXPECT_NE(read.error().text().find("b.fst"), std::string::npos);
      return false;
    }
    if (read->complete) {
      EXPECT_EQ(read->events.size(), trace_.events.size()) << "lost without saying so";
    }
    profiler::to_json(profiler::analyse(*read));
    return true;
  }

  const TemporaryFolder folder_;
  const Trace trace_ = large_trace();
  std::string bytes_;
};

TEST_F(DamagedFile, CutAnywhere) {
  std::mt19937 random(11);
  for (int i = 0; i < 100; ++i) {
    is_saved(
        bytes_.substr(0, std::uniform_int_distribution<std::size_t>(0, bytes_.size() - 1)(random)));
  }
}

TEST_F(DamagedFile, FlippedBits) {
  std::mt19937 random(12);
  int saved = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes_;
    for (int flips = std::uniform_int_distribution<int>(1, 40)(random); flips > 0; --flips) {
      damaged[std::uniform_int_distribution<std::size_t>(0, damaged.size() - 1)(random)] ^=
          static_cast<char>(1 << std::uniform_int_distribution<int>(0, 7)(random));
    }
    saved += is_saved(damaged) ? 1 : 0;
  }
  EXPECT_GT(saved, 0);
}

TEST_F(DamagedFile, RandomPages) {
  std::mt19937 random(13);
  for (int i = 0; i < 50; ++i) {
    std::string damaged = bytes_;
    const std::size_t page =
        16384 * std::uniform_int_distribution<std::size_t>(1, damaged.size() / 16384 - 1)(random);
    for (std::size_t at = page; at < page + 16384; ++at) damaged[at] = static_cast<char>(random());
    is_saved(damaged);
  }
}

TEST_F(DamagedFile, AHoleAtItsEndCountsForNothing) {
  const std::string path = folder_.path("hole.fst");
  write_file(path, bytes_);
  std::filesystem::resize_file(path, std::uintmax_t{1} << 33);
  const auto file = UntrustedDatabase::open(path, "a trace", UntrustedDatabase::CutShort::refused);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->bytes(), static_cast<std::int64_t>(bytes_.size()));
}

TEST_F(DamagedFile, ForeignDatabase) {
  // A database of another program: the schema is what is wrong.
  std::string foreign = bytes_;
  for (std::size_t at = 0; (at = foreign.find("EVENT_RECORDS", at)) != std::string::npos;) {
    foreign.replace(at, 13, "OTHER_RECORDS");
  }
  write_file(folder_.path("c.fst"), foreign);
  const auto read = read_fst(folder_.path("c.fst"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("EVENT_RECORDS"), std::string::npos) << read.error().text();
}

}  // namespace
}  // namespace foreshard::traces
