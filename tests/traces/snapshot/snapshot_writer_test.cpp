// Pickles and snapshots that are written: our reader and Python's pickle find in them what was put in,
// and a recording of PyTorch that is read and written again is the same one.
#include "traces/snapshot/snapshot_writer.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/outside_data.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/snapshot/pickle/pickle.hpp"
#include "traces/snapshot/pickle/pickle_writer.hpp"

namespace foreshard::traces {
namespace {

const std::string kSource = FORESHARD_SOURCE_DIR;

// What Python prints; empty where there is none.
std::string python(const std::string& arguments) {
  FILE* pipe = popen(("python3 " + arguments + " 2>&1").c_str(), "r");
  std::string printed;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) printed += static_cast<char>(c);
  const int status = pclose(pipe);
  constexpr int kNotFound = 127 << 8;
  return status == kNotFound ? "" : printed;
}

const std::vector<std::int64_t> kIntegers = {0,
                                             1,
                                             255,
                                             256,
                                             65535,
                                             65536,
                                             -1,
                                             -128,
                                             -129,
                                             -32769,
                                             1LL << 31,
                                             (1LL << 31) - 1,
                                             -(1LL << 31),
                                             -(1LL << 31) - 1,
                                             (1LL << 47) - 1,
                                             1LL << 47,
                                             139637974630400,
                                             std::numeric_limits<std::int64_t>::max(),
                                             std::numeric_limits<std::int64_t>::min()};
const std::string kLong(300, 'x');

std::string small_pickle() {
  std::ostringstream out;
  PickleWriter pickle(out);
  pickle.begin_dict();
  pickle.text("integers");
  pickle.begin_list();
  for (const std::int64_t value : kIntegers) pickle.integer(value);
  pickle.end_list();
  const auto list = pickle.remember();
  pickle.text("again"), pickle.recall(list);
  pickle.text("real"), pickle.real(0.75);
  pickle.text("pair"), pickle.pair(0, 1);
  pickle.text("others");
  pickle.begin_list();
  pickle.none(), pickle.boolean(true), pickle.boolean(false);
  pickle.text("integers"), pickle.text(kLong), pickle.text("\xc3\xa9");
  pickle.end_list();
  pickle.end_dict();
  pickle.finish();
  return out.str();
}

TEST(PickleWriter, IsReadBack) {
  const std::string bytes = small_pickle();
  const auto pickle = read_pickle(bytes, "x.pickle");
  ASSERT_TRUE(pickle) << pickle.error().text();
  ASSERT_FALSE(pickle->damage) << pickle->damage->problem;
  const PickleValues& values = pickle->values;
  for (const char* key : {"integers", "again"}) {
    std::vector<std::int64_t> integers;
    for (const auto& entry : values.entries(values.find(pickle->root, key))) {
      integers.push_back(values.integer(entry.value));
    }
    EXPECT_EQ(integers, kIntegers);
  }
  EXPECT_EQ(values.real(values.find(pickle->root, "real")), 0.75);
}

TEST(PickleWriter, IsReadByPython) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.path("x.pickle"), std::ios::binary) << small_pickle();
  std::string integers;
  for (const std::int64_t value : kIntegers) {
    integers += (integers.empty() ? "" : ", ") + std::to_string(value);
  }
  const std::string expected = "{'integers': [" + integers + "], 'again': [" + integers +
                               "], 'real': 0.75, 'pair': (0, 1), 'others': [None, True, False, "
                               "'integers', '" +
                               kLong + "', '\\xe9']} True\n";
  const std::string printed = python(
      "-c 'import pickle, sys; p = pickle.load(open(sys.argv[1], \"rb\")); "
      "print(ascii(p), p[\"again\"] is p[\"integers\"])' '" +
      folder.path("x.pickle") + "'");
  if (printed.empty()) GTEST_SKIP() << "needs python3 to load it";
  EXPECT_EQ(printed, expected);
}

// Our own sample, and a recording of somebody else's job where it is at hand.
class WrittenAgain : public testing::TestWithParam<const char*> {};

TEST_P(WrittenAgain, IsTheSameSnapshot) {
  const std::filesystem::path sample = kSource + "/traces/samples/" + GetParam();
  const std::filesystem::path path =
      std::filesystem::exists(sample)
          ? sample
          : tests::outside_data(std::string("traces/snapshots/") + GetParam());
  if (!std::filesystem::exists(path)) GTEST_SKIP() << tests::missing(path);
  const std::string recorded = path.string();
  const auto snapshot = read_snapshot(recorded);
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  const tests::TemporaryFolder folder;
  const std::string written = folder.path("written.pickle");
  {
    std::ofstream file(written, std::ios::binary);
    write_snapshot(*snapshot, file);
  }
  const auto again = read_snapshot(written);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(again->incomplete_reason.empty());
  EXPECT_TRUE(again->dropped.empty());
  EXPECT_EQ(again->stacks, snapshot->stacks);
  EXPECT_EQ(again->rules, snapshot->rules);
  EXPECT_EQ(again->segments.size(), snapshot->segments.size());
  const std::string printed = python("'" + kSource + "/tests/traces/snapshot/same_snapshot.py' '" +
                                     recorded + "' '" + written + "'");
  if (printed.empty()) GTEST_SKIP() << "needs python3 to load it";
  EXPECT_EQ(printed, "equal\n");
}

INSTANTIATE_TEST_SUITE_P(Snapshots, WrittenAgain,
                         testing::Values("snapshot.pickle", "expandable_segments_oom.pickle"));

}  // namespace
}  // namespace foreshard::traces
