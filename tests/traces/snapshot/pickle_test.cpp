// The pickle reader: plain data of every protocol, nothing that runs, and no bytes that crash it.
#include "traces/snapshot/pickle/pickle.hpp"

#include <deque>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::traces {
namespace {

using namespace std::string_literals;

// Keeps the bytes, in which text stays.
Pickle read(const std::string& bytes) {
  static std::deque<std::string> kept;
  auto pickle = read_pickle(kept.emplace_back(bytes), "x.pickle");
  EXPECT_TRUE(pickle) << pickle.error().text();
  return pickle ? std::move(*pickle) : Pickle{};
}

std::string complaint(const std::string& bytes) {
  const auto pickle = read_pickle(bytes, "x.pickle");
  if (!pickle) return pickle.error().text();
  if (!pickle->damage) return "";
  return "byte " + std::to_string(pickle->damage->byte) + ": " + pickle->damage->problem;
}

std::vector<PickleId> items(const Pickle& pickle, PickleId list) {
  std::vector<PickleId> found;
  for (const auto& entry : pickle.values.entries(list)) found.push_back(entry.value);
  return found;
}

TEST(PickleTest, NamesObjectsWhereTheyAreAskedForAndCallsNothing) {
  // os.system("true"), an object of a class with a state, and a storage referred to by ("x",).
  const std::string bytes =
      "\x80\x02(cos\nsystem\nX\x04\x00\x00\x00true\x85R"
      "X\x01\x00\x00\x00mX\x01\x00\x00\x00n\x93)\x81}b"
      "X\x01\x00\x00\x00x\x85Qt."s;
  EXPECT_NE(complaint(bytes).find("GLOBAL"), std::string::npos);
  const auto pickle = read_pickle(bytes, "x.pickle", {}, PickleObjects::named);
  ASSERT_TRUE(pickle) << pickle.error().text();
  ASSERT_FALSE(pickle->damage) << pickle->damage->problem;
  const auto found = items(*pickle, pickle->root);
  ASSERT_EQ(found.size(), 3u);
  const auto& values = pickle->values;
  const auto call = items(*pickle, found[0]), object = items(*pickle, found[1]);
  ASSERT_EQ(call.size(), 2u);
  EXPECT_TRUE(values.is(call[0], PickleType::global));
  EXPECT_EQ(values.text(call[0]), "os system");
  ASSERT_EQ(object.size(), 3u);
  EXPECT_EQ(values.text(object[0]), "m n");
  EXPECT_TRUE(values.is(object[2], PickleType::dict));
  EXPECT_EQ(items(*pickle, found[2]).size(), 1u);
}

TEST(PickleTest, ReadsNumbersOfEveryKind) {
  const std::string bytes =
      "\x80\x04]("
      "K\x07"                                         // 7
      "M\x01\x02"                                     // 513
      "J\xff\xff\xff\xff"                             // -1
      "\x8a\x06\x00\x00\x00\x00\x00\x01"              // 2^40
      "\x8a\x01\x80"                                  // -128
      "\x8a\x00"                                      // 0
      "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"  // 2^64
      "I12\nL-5L\nI01\nF2.5\n"
      "G\x3f\xf8\x00\x00\x00\x00\x00\x00"  // 1.5
      "\x88\x89Ne."s;
  const Pickle pickle = read(bytes);
  const auto found = items(pickle, pickle.root);
  ASSERT_EQ(found.size(), 15u);
  const std::vector<std::int64_t> integers = {7, 513, -1, std::int64_t{1} << 40, -128, 0};
  for (std::size_t i = 0; i < integers.size(); ++i) {
    EXPECT_TRUE(pickle.values.is(found[i], PickleType::integer));
    EXPECT_EQ(pickle.values.integer(found[i]), integers[i]);
  }
  EXPECT_EQ(pickle.values.type(found[6]), PickleType::large_integer);
  EXPECT_EQ(pickle.values.integer(found[7]), 12);
  EXPECT_EQ(pickle.values.integer(found[8]), -5);
  EXPECT_TRUE(pickle.values.is(found[9], PickleType::boolean));
  EXPECT_EQ(pickle.values.real(found[10]), 2.5);
  EXPECT_EQ(pickle.values.real(found[11]), 1.5);
  EXPECT_EQ(pickle.values.integer(found[12]), 1);
  EXPECT_EQ(pickle.values.type(found[13]), PickleType::boolean);
}

TEST(PickleTest, ReadsTextOfEveryKind) {
  const Pickle pickle = read(
      "(S'it\\'s'\nV\\u00e9\nU\x02zwX\x03\x00\x00\x00"
      "abc\x8c\x01x\x8d\x01\x00\x00\x00\x00\x00\x00\x00yl."s);
  std::vector<std::string> texts;
  for (const PickleId id : items(pickle, pickle.root)) texts.emplace_back(pickle.values.text(id));
  EXPECT_EQ(texts, (std::vector<std::string>{"it's", "\xc3\xa9", "zw", "abc", "x", "y"}));
}

TEST(PickleTest, BuildsDictsAndTuplesAndSharesWhatTheMemoShares) {
  // {'a': L, 'b': (L, L)} with one list L = [1]
  const Pickle pickle = read(
      "\x80\x04}(\x8c\x01"
      "a]\x94K\x01"
      "a\x8c\x01"
      "bh\x00h\x00\x86u."s);
  const PickleId list = pickle.values.find(pickle.root, "a");
  const PickleId pair = pickle.values.find(pickle.root, "b");
  ASSERT_EQ(pickle.values.type(pair), PickleType::tuple);
  EXPECT_EQ(items(pickle, pair), (std::vector<PickleId>{list, list}));
  EXPECT_EQ(pickle.values.find(pickle.root, "c"), PickleValues::kMissing);
}

TEST(PickleTest, RunsNothing) {
  const std::pair<std::string, const char*> attacks[] = {
      {"cos\nsystem\n(S'true'\ntR.", "GLOBAL"},
      {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL"},
      {"\x80\x04N)R.", "REDUCE"},
      {"\x80\x04N}b.", "BUILD"},
      {"(ios\nsystem\n.", "INST"},
      {"\x80\x04N)\x81.", "NEWOBJ"},
      {"Pfile\n.", "PERSID"},
      {"\x80\x05\x97.", "NEXT_BUFFER"},
      {"\x80\x04\x8f.", "EMPTY_SET"},
  };
  for (const auto& [bytes, name] : attacks) {
    const std::string text = complaint(bytes);
    EXPECT_NE(text.find(std::string("opcode ") + name + " "), std::string::npos) << text;
    EXPECT_NE(text.find("byte "), std::string::npos) << text;
  }
}

TEST(PickleTest, NamesWhatIsWrong) {
  EXPECT_NE(complaint("\x80\x04\xff.").find("byte 2: unknown opcode 0xff"), std::string::npos);
  EXPECT_NE(complaint("h\x05.").find("number 5 is used before it was defined"), std::string::npos);
  EXPECT_NE(complaint("}(K\x01u.").find("a key without a value"), std::string::npos);
  EXPECT_NE(complaint("K\x01"
                      "a.")
                .find("value is missing"),
            std::string::npos);
  EXPECT_NE(complaint("e").find("without its start"), std::string::npos);
  EXPECT_NE(complaint("").find("truncated"), std::string::npos);
}

TEST(PickleTest, HoldsCyclesAndDeepNests) {
  const Pickle cycle = read(
      "]q\x00h\x00"
      "a."s);
  EXPECT_EQ(items(cycle, cycle.root), std::vector<PickleId>{cycle.root});
  const int depth = 500'000;
  const Pickle deep = read(std::string(depth, ']') + std::string(depth - 1, 'a') + ".");
  PickleId list = deep.root;
  int found = 1;
  while (!deep.values.entries(list).empty()) list = items(deep, list)[0], ++found;
  EXPECT_EQ(found, depth);
}

TEST(PickleTest, BelievesNoLength) {
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\x7f";
  for (const std::string opcode : {"\x8d", "\x8e"}) {
    EXPECT_NE(complaint(opcode + huge + "abc"), "");
    const Pickle after = read("]" + opcode + huge + "abc");
    EXPECT_TRUE(after.damage);
    EXPECT_TRUE(after.values.is(after.root, PickleType::list));
  }
}

TEST(PickleTest, KeepsWhatStandsBeforeACut) {
  // {'a': [{'b': 1}, {'b': 2}], ...
  const std::string whole =
      "\x80\x04}(\x8c\x01"
      "a](}\x8c\x01"
      "bK\x01s}\x8c\x01"
      "bK\x02se\x8c\x01"
      "cNu."s;
  const Pickle cut = read(whole.substr(0, 24));
  ASSERT_TRUE(cut.damage);
  EXPECT_EQ(cut.damage->byte, 24u);
  const auto found = items(cut, cut.values.find(cut.root, "a"));
  ASSERT_GE(found.size(), 1u);
  EXPECT_EQ(cut.values.integer(cut.values.find(found[0], "b")), 1);
  EXPECT_FALSE(read(whole).damage);
}

TEST(PickleTest, KeepsWhatStandsBeforeDamage) {
  const std::pair<std::string, std::size_t> cases[] = {
      {"](K\x07K\x08\xffK\x09"
       "e."s,
       6},  // begins nothing
      {"](K\x07K\x08.K\x09"
       "e."s,
       6},  // stops within the list
      {"](K\x07K\x08"
       "cos\nsystem\ne."s,
       6},
  };
  for (const auto& [bytes, at] : cases) {
    const Pickle pickle = read(bytes);
    ASSERT_TRUE(pickle.damage);
    EXPECT_EQ(pickle.damage->byte, at);
    EXPECT_EQ(items(pickle, pickle.root).size(), 2u);
  }
}

TEST(PickleTest, BoundsWhatWaitsForAContainer) {
  EXPECT_NE(complaint(std::string(2'000'000, '(')).find("too many values on the stack"),
            std::string::npos);
}

// A large job's snapshot has more values than the 16 million that any file may have; what a byte each
// would make of a file is refused.
TEST(PickleTest, LargeFilesMayHoldMoreValues) {
  constexpr std::size_t kValues = std::size_t{17} << 20;
  std::string bytes = "\x80\x04(";
  for (std::size_t i = 0; i < kValues; ++i) bytes += "K\x01";
  EXPECT_EQ(complaint(bytes + "l."), "");
  EXPECT_NE(
      complaint("\x80\x04(" + std::string(std::size_t{40} << 20, ']') + "l.").find("more than"),
      std::string::npos);
}

RC_GTEST_PROP(PickleProperty, AnyBytesAreReadOrRefused, (const std::string& tail)) {
  const std::string bytes = "\x80\x04](" + tail;
  const auto pickle = read_pickle(bytes, "x.pickle");
  const std::string error = pickle ? "x.pickle" : pickle.error().text();
  RC_ASSERT(error.find("x.pickle") == 0u);
}

}  // namespace
}  // namespace foreshard::traces
