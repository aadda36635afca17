#include "executor/data/tokens.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "executor/data/npy.hpp"
#include "executor/data/shipped_text.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

using tests::TemporaryFolder;

std::string npy(const std::string& dict, const std::string& data, char version = 1) {
  std::string header = dict + "\n";
  std::string file = std::string("\x93NUMPY") + version + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(header.size() >> (8 * i));
  }
  return file + header + data;
}

std::string npy_of(const std::string& descr, std::int64_t length, const std::string& data) {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                 std::to_string(length) + ",), }",
             data);
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> counting(std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(i % 100);
  return values;
}

TEST(Tokens, ReadsEveryIntegerTypeOfNumPy) {
  TemporaryFolder folder;
  const auto check = [&](const std::string& descr, const std::string& data) {
    const auto path = folder.write("x.npy", npy_of(descr, 30, data));
    const auto tokens = TokenData::open(path, 100, 4);
    ASSERT_TRUE(tokens) << descr << ": " << tokens.error().text();
    EXPECT_EQ(tokens->tokens(), 30);
    for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(tokens->token(i), i) << descr;
  };
  check("|u1", raw(counting<std::uint8_t>(30)));
  check("|i1", raw(counting<std::int8_t>(30)));
  check("<u2", raw(counting<std::uint16_t>(30)));
  check("<i2", raw(counting<std::int16_t>(30)));
  check("<u4", raw(counting<std::uint32_t>(30)));
  check("=i4", raw(counting<std::int32_t>(30)));
  check("<u8", raw(counting<std::uint64_t>(30)));
  check("<i8", raw(counting<std::int64_t>(30)));
  std::string big_endian;
  for (char i = 0; i < 30; ++i) big_endian += std::string(3, '\0') + i;
  check(">i4", big_endian);
}

TEST(Tokens, ReadsEveryVersionOfTheFormat) {
  const std::string data = raw(counting<std::uint16_t>(5));
  const std::string dicts[] = {"{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }",
                               "{\"shape\":(5,),\"fortran_order\":True,\"descr\":\"<u2\"}  "};
  for (const auto& dict : dicts) {
    for (const char version : {'\1', '\2', '\3'}) {
      const auto file = npy(dict, data, version);
      const auto array = parse_npy(std::as_bytes(std::span(file)), "x.npy");
      ASSERT_TRUE(array) << array.error().text();
      EXPECT_EQ(array->type, TokenType::u16);
      EXPECT_EQ(array->length, 5);
      EXPECT_EQ(array->data_offset, file.size() - 10);
    }
  }
}

TEST(Tokens, RefusesOtherArraysAndDamagedOnes) {
  const std::string ten(10, '\0');
  struct Case {
    std::string file, field;
  };
  const auto dict = [](const std::string& text) { return "{" + text + "}"; };
  const std::string descr = "'descr': '<u2', ", order = "'fortran_order': False, ",
                    shape = "'shape': (5,)";
  const Case cases[] = {
      {"", ""},
      {"PK\3\4 a zip file", ""},
      {std::string("\x93NUMPY\x01\x00\x10\x00{'descr': '<f8'}", 25), "header"},
      {npy(dict(descr + order + shape), ten, '\4'), "version"},
      {npy_of("<u2", 5, ten).substr(0, 9), ""},
      {npy_of("<u2", 5, ten).substr(0, 40), "header"},
      {npy(dict(descr + order), ten), "header"},
      {npy(dict(descr + order + shape + ", 'more': 1"), ten), "header"},
      {npy(dict(descr + descr + order + shape), ten), "header"},
      {npy(dict(descr + order + shape) + "x", ten), "header"},
      {npy(dict(descr + order + "'shape': (5)"), ten), "header"},
      {npy(dict(descr + order + "'shape': (-5,)"), ten), "header"},
      {npy(dict(descr + order + "'shape': (99999999999999999999,)"), ten), "header"},
      {npy(dict("'descr': [('a', '<u2')], " + order + shape), ten), "header"},
      {npy_of("<f4", 5, ten), "descr"},
      {npy_of("|b1", 10, ten), "descr"},
      {npy_of("<u3", 5, ten), "descr"},
      {npy_of("|u2", 5, ten), "descr"},
      {npy_of("<U2", 5, ten), "descr"},
      {npy(dict(descr + order + "'shape': ()"), ten), "shape"},
      {npy(dict(descr + order + "'shape': (5, 1)"), ten), "shape"},
      {npy_of("<u2", 6, ten), "shape"},
      {npy_of("<u2", 4, ten), "shape"},
      {npy_of("<u2", 9223372036854775807, ten), "shape"},
  };
  for (const auto& c : cases) {
    const auto array = parse_npy(std::as_bytes(std::span(c.file)), "x.npy");
    ASSERT_FALSE(array) << c.field;
    EXPECT_EQ(array.error().file, "x.npy");
    EXPECT_EQ(array.error().field, c.field) << array.error().text();
  }
}

TEST(Tokens, ReadsRawTokensAndText) {
  TemporaryFolder folder;
  const auto small = folder.write("a.bin", raw(std::vector<std::uint16_t>{1, 2, 65535}));
  const auto narrow = TokenData::open(small, 65536, 1);
  ASSERT_TRUE(narrow) << narrow.error().text();
  EXPECT_EQ(narrow->token(2), 65535);
  const auto wide = folder.write("b.bin", raw(std::vector<std::uint32_t>{1, 2, 70000}));
  const auto large = TokenData::open(wide, 70001, 1);
  ASSERT_TRUE(large) << large.error().text();
  EXPECT_EQ(large->token(2), 70000);
  const auto text = TokenData::open(folder.write("c.txt", "abc\xff"), 256, 2);
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(text->token(3), 255);
}

TEST(Tokens, AreAsWideAsTheFileOrTheUserSays) {
  TemporaryFolder folder;
  const auto values = counting<std::uint32_t>(40);
  const auto file = folder.write("wide.bin", raw(values));
  const auto refused = TokenData::open(file, 300, 4);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--data-type uint32"), std::string::npos);
  const auto wide = TokenData::open(file, 300, 4, 0, TokenType::u32);
  ASSERT_TRUE(wide) << wide.error().text();
  EXPECT_EQ(wide->tokens(), 40);
  EXPECT_EQ(wide->token(39), 39);
  EXPECT_EQ(wide->identity().type, "uint32");
  const auto narrow = TokenData::open(file, 300, 4, 0, TokenType::u16);
  ASSERT_TRUE(narrow) << narrow.error().text();
  EXPECT_EQ(narrow->tokens(), 80);
  const auto padding =
      TokenData::open(folder.write("zeros.bin", raw(std::vector<std::uint16_t>(80))), 300, 4);
  EXPECT_TRUE(padding);  // nothing but zeros is of either width
  EXPECT_FALSE(TokenData::open(folder.write("a.txt", "abcdef"), 300, 4, 0, TokenType::u16));
}

TEST(Tokens, ReadTheHeaderOfLlmC) {
  TemporaryFolder folder;
  const auto header = [](std::int32_t magic, std::int32_t version, std::int32_t count) {
    std::vector<std::int32_t> words(256);
    words[0] = magic;
    words[1] = version;
    words[2] = count;
    return raw(words);
  };
  const auto gpt2 = TokenData::open(
      folder.write("gpt2.bin", header(20240520, 1, 30) + raw(counting<std::uint16_t>(30))), 300, 4);
  ASSERT_TRUE(gpt2) << gpt2.error().text();
  EXPECT_EQ(gpt2->tokens(), 30);
  EXPECT_EQ(gpt2->token(29), 29);
  const auto file =
      folder.write("llama3.bin", header(20240801, 7, 30) + raw(counting<std::uint32_t>(30)));
  const auto llama3 = TokenData::open(file, 300, 4);
  ASSERT_TRUE(llama3) << llama3.error().text();
  EXPECT_EQ(llama3->token(29), 29);
  EXPECT_TRUE(gpt2->identity().has_same_tokens(llama3->identity()));
  const auto other = TokenData::open(file, 300, 4, 0, TokenType::u16);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().field, "--data-type");
  const auto cut = TokenData::open(
      folder.write("cut.bin", header(20240520, 1, 31) + raw(counting<std::uint16_t>(30))), 300, 4);
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("says 31 tokens, but 30 follow"), std::string::npos);
}

// One list, wherever a sample begins; files of no tokens count for nothing.
TEST(Tokens, OfSeveralFilesFollowEachOther) {
  TemporaryFolder folder;
  const auto all = counting<std::uint16_t>(100);
  const auto whole = folder.write("whole.bin", raw(all));
  const auto part = [&](std::size_t begin, std::size_t end) {
    return raw(std::vector<std::uint16_t>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                          all.begin() + static_cast<std::ptrdiff_t>(end)));
  };
  std::filesystem::create_directory(folder.path("set"));
  folder.write("set/000_tokens.ds", part(0, 37));
  folder.write("set/000_tokens.ds.metadata", "gpt2|2\n37\n37 T");
  folder.write("set/000_tokens.ds.index", "........");
  folder.write("set/001_tokens.ds", "");
  folder.write("set/002_tokens.ds", part(37, 38));
  folder.write("set/003_tokens.ds", part(38, 100));
  const auto truth = TokenData::open(whole, 300, 9);
  ASSERT_TRUE(truth);
  for (const std::string& name :
       {folder.path("set"), folder.path("set") + "/*.ds", folder.path("set") + "/00?_tokens.ds"}) {
    const auto data = TokenData::open(name, 300, 9);
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_TRUE(data->identity().has_same_tokens(truth->identity()));
    for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(data->token(i), i);
    std::vector<std::int32_t> inputs(99), targets(99), expected(99);
    data->fill_batch({.micro_batch = 11}, {}, inputs.data(), targets.data());
    truth->fill_batch({.micro_batch = 11}, {}, expected.data(), targets.data());
    EXPECT_EQ(inputs, expected);
  }
}

TEST(Tokens, MayBeInMoreFilesThanAShellAllows) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("set"));
  constexpr int kFiles = 200;
  for (int i = 0; i < kFiles; ++i) folder.write("set/" + std::to_string(1000 + i) + ".txt", "ab");
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto data = TokenData::open(folder.path("set"), 256, 4);
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->tokens(), 2 * kFiles);
}

TEST(Tokens, OfSeveralFilesAreOfOneType) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("set"));
  EXPECT_NE(TokenData::open(folder.path("set"), 300, 4).error().message.find("no file of tokens"),
            std::string::npos);
  EXPECT_NE(TokenData::open(folder.path("*.ds"), 300, 4).error().message.find("matches no file"),
            std::string::npos);
  folder.write("set/a.ds", raw(counting<std::uint32_t>(20)));
  folder.write("set/a.ds.metadata", "llama3|4\n20\n20 T");
  const auto wide = TokenData::open(folder.path("set"), 300, 4);
  ASSERT_TRUE(wide) << wide.error().text();
  EXPECT_EQ(wide->tokens(), 20);
  folder.write("set/b.txt", "abcdefgh");
  const auto mixed = TokenData::open(folder.path("set"), 300, 4);
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().file, folder.path("set/b.txt"));
  folder.write("set/a.ds.metadata", "llama3\n20\n");  // as older versions wrote it
  EXPECT_EQ(TokenData::open(folder.path("set/a.ds"), 70'000, 4)->tokens(), 20);
  folder.write("set/a.ds.metadata", "llama3|3\n");
  const auto odd = TokenData::open(folder.path("set"), 300, 4);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().field, "line 1");
}

TEST(Tokens, ThatAreNoLongerThereAreAnErrorThatNamesTheFile) {
  TemporaryFolder folder;
  const auto file = folder.write("x.bin", raw(counting<std::uint16_t>(9000)));
  const auto tokens = TokenData::open(file, 300, 8);
  ASSERT_TRUE(tokens) << tokens.error().text();
  std::filesystem::resize_file(file, 4000);
  std::vector<std::int32_t> inputs(8), targets(8);
  tokens->fill_batch({}, {}, inputs.data(), targets.data());
  EXPECT_EQ(targets[7], 8);
  try {
    tokens->fill_batch({.step = 500}, {}, inputs.data(), targets.data());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), file + ": has become shorter; expected 9000 tokens as at the start");
  }
}

TEST(Tokens, NamesWhatIsWrong) {
  TemporaryFolder folder;
  struct Case {
    std::string name, contents;
    std::int64_t vocabulary, sequence;
    std::string field, message;
  };
  const Case cases[] = {
      {"t.txt", "hi", 256, 64, "", "less than one sample"},
      {"e.txt", "", 256, 1, "", "less than one sample"},
      {"b.txt", std::string(9000, '!') + "z", 40, 8, "token 9000", "is 122"},
      {"o.bin", "abc", 300, 1, "", "3 bytes"},
      {"w.bin", "abcdef", 70000, 1, "", "multiple of 4"},
      {"x.json", "[1, 2]", 300, 1, "", "unknown format"},
      {"n.npy", npy_of("|i1", 3, "\1\2\xff"), 256, 1, "token 2", "is -1"},
  };
  for (const auto& c : cases) {
    const auto path = folder.write(c.name, c.contents);
    const auto tokens = TokenData::open(path, c.vocabulary, c.sequence);
    ASSERT_FALSE(tokens) << c.name;
    EXPECT_EQ(tokens.error().file, path);
    EXPECT_EQ(tokens.error().field, c.field);
    EXPECT_NE(tokens.error().message.find(c.message), std::string::npos) << tokens.error().text();
    if (!c.field.empty()) {
      EXPECT_NE(tokens.error().message.find("vocab_size"), std::string::npos);
    }
  }
  const auto missing = TokenData::open(folder.path("none.npy"), 256, 8);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().file, folder.path("none.npy"));
  std::filesystem::create_directory(folder.path("folder.txt"));
  EXPECT_FALSE(TokenData::open(folder.path("folder.txt"), 256, 8));
}

TEST(Tokens, ChecksOnlyTheSamplesARunCanReach) {
  TemporaryFolder folder;
  const auto path = folder.write("b.txt", std::string(33, '!') + std::string(32, 'z'));
  EXPECT_TRUE(TokenData::open(path, 40, 8, 4));   // tokens 0 to 32
  EXPECT_FALSE(TokenData::open(path, 40, 8, 5));  // tokens 0 to 40
}

TEST(Tokens, RanksTakeTurnsAndStartAgain) {
  TemporaryFolder folder;
  // 26 tokens, S = 5: samples 0 to 4 begin at 0, 5, 10, 15, 20.
  std::string text;
  for (char i = 0; i < 26; ++i) text += i;
  const auto data = TokenData::open(folder.write("x.txt", text), 26, 5);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples(), 5);
  // W = 3, A = 2, B = 2, step 2 (t = 1), m = 1, rank 2: j = (1*2 + 1)*2 + {0, 1} = 6, 7;
  // i = 2 + 3*j = 20, 23, modulo 5: samples 0 and 3.
  const BatchPosition at{2, 3, 2, 1, 2, 2};
  EXPECT_EQ(sample_number(at, {}, 0), 20);
  EXPECT_EQ(sample_number(at, {}, 1), 23);
  std::vector<std::int32_t> inputs(10), targets(10);
  data->fill_batch(at, {}, inputs.data(), targets.data());
  EXPECT_EQ(inputs, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 15, 16, 17, 18, 19}));
  EXPECT_EQ(targets, (std::vector<std::int32_t>{1, 2, 3, 4, 5, 16, 17, 18, 19, 20}));
}

TEST(Tokens, EachStepReadsAllItsSamplesOnceWhateverTheRanks) {
  for (const int world : {1, 2, 3, 4, 6, 12}) {
    for (const std::int64_t accumulation : {1, 2, 3}) {
      if (12 % (world * accumulation) != 0) continue;
      const std::int64_t micro_batch = 12 / (world * accumulation);
      std::set<std::int64_t> seen;
      for (int rank = 0; rank < world; ++rank) {
        for (std::int64_t m = 0; m < accumulation; ++m) {
          for (std::int64_t b = 0; b < micro_batch; ++b) {
            seen.insert(sample_number({rank, world, 4, m, accumulation, micro_batch}, {}, b));
          }
        }
      }
      EXPECT_EQ(seen.size(), 12u);
      EXPECT_EQ(*seen.begin(), 36);
      EXPECT_EQ(*seen.rbegin(), 47);
    }
  }
}

TEST(Tokens, AResumedRunGoesOnWhereTheFirstStopped) {
  const SampleOrder after_three{3, 36};
  for (std::int64_t step = 4; step < 7; ++step) {
    const BatchPosition at{1, 3, step, 0, 1, 4};
    EXPECT_EQ(sample_number(at, after_three, 2), sample_number(at, {}, 2));
  }
  // On two ranks with batches of two the next samples are 36 to 39.
  EXPECT_EQ(sample_number({0, 2, 4, 0, 1, 2}, after_three, 0), 36);
  EXPECT_EQ(sample_number({1, 2, 4, 0, 1, 2}, after_three, 1), 39);
}

TEST(Tokens, AreKnownByTheirContentAlone) {
  TemporaryFolder folder;
  auto values = counting<std::uint16_t>(100'000);
  const auto identity = [&](const std::string& name) {
    const std::string text =
        name.ends_with("npy") ? npy_of("<u2", std::ssize(values), raw(values)) : raw(values);
    const auto data = TokenData::open(folder.write(name, text), 200, 8);
    EXPECT_TRUE(data) << data.error().text();
    return data->identity();
  };
  const DataIdentity first = identity("a.bin");
  EXPECT_EQ(first.tokens, 100'000);
  EXPECT_TRUE(first.has_same_tokens(identity("b.npy")));
  for (const std::size_t changed : {std::size_t{0}, values.size() - 1}) {
    values[changed] += 1;
    EXPECT_FALSE(first.has_same_tokens(identity("c.bin"))) << changed;
    values[changed] -= 1;
  }
  values.pop_back();
  EXPECT_FALSE(first.has_same_tokens(identity("d.bin")));
}

// 40 samples of 10 tokens, or 16 of 24.
TEST(Tokens, GoOnWithTheSampleThatHoldsTheFirstUnreadToken) {
  TemporaryFolder folder;
  const auto path = folder.write("x.bin", raw(counting<std::uint16_t>(401)));
  RunState before;
  before.step = 3;
  before.plan = "[batch]\nsequence = 10\n";
  const auto samples_at = [&](std::int64_t sequence, std::int64_t samples) {
    const auto data = TokenData::open(path, 200, sequence);
    before.samples = samples;
    const auto order = order_behind(before, *data, std::nullopt);
    EXPECT_TRUE(order) << order.error().text();
    EXPECT_EQ(order->steps_done, 3);
    return order->samples_done;
  };
  before.data = TokenData::open(path, 200, 10)->identity();
  EXPECT_EQ(samples_at(10, 57), 57);
  EXPECT_EQ(samples_at(24, 12), 5);
  EXPECT_EQ(samples_at(24, 13), 5);        // 130 tokens: the sample from 120 on
  EXPECT_EQ(samples_at(24, 40 + 12), 21);  // in the second epoch
  before.data.fingerprint += 1;
  EXPECT_EQ(samples_at(10, 57), 0);
}

// 40 samples of 10 tokens. Whoever the ranks are, together they read the places of an epoch in order.
TEST(Tokens, ShuffledEpochsHaveEachSampleOnceOnAnyRanks) {
  TemporaryFolder folder;
  std::vector<std::uint16_t> tokens(401);
  std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
  const auto data = TokenData::open(folder.write("x.bin", raw(tokens)), 500, 10);
  ASSERT_TRUE(data) << data.error().text();
  SampleOrder order;
  order.shuffle_seed = 11;
  // The first tokens of samples, in the order in which ranks of one sample a step read them.
  const auto read = [&](int ranks, std::int64_t samples) {
    std::vector<std::int32_t> firsts, inputs(10), targets(10);
    for (std::int64_t i = 0; i < samples; ++i) {
      const BatchPosition at{static_cast<int>(i % ranks), ranks, 1 + i / ranks, 0, 1, 1};
      data->fill_batch(at, order, inputs.data(), targets.data());
      EXPECT_EQ(targets[0], inputs[0] + 1) << i;
      firsts.push_back(inputs[0]);
    }
    return firsts;
  };
  const std::vector<std::int32_t> two_epochs = read(1, 80);
  for (const int ranks : {2, 3, 5}) EXPECT_EQ(read(ranks, 80), two_epochs) << ranks;
  std::vector<std::int32_t> first(two_epochs.begin(), two_epochs.begin() + 40),
      second(two_epochs.begin() + 40, two_epochs.end());
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::ranges::is_sorted(first));
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, second);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], 10 * static_cast<int>(i));
}

// An epoch that was read in another order cannot be gone on with.
TEST(Tokens, AnotherOrderBeginsWithTheNextEpoch) {
  TemporaryFolder folder;
  const auto path = folder.write("x.bin", raw(counting<std::uint16_t>(401)));
  RunState before;
  before.step = 3;
  before.plan = "[batch]\nsequence = 10\n";
  before.seed = 11;
  before.data = TokenData::open(path, 200, 10)->identity();
  using Seed = std::optional<std::uint64_t>;
  const auto samples = [&](bool was_shuffled, std::int64_t done, Seed now, std::int64_t sequence) {
    before.is_shuffled = was_shuffled;
    before.samples = done;
    return order_behind(before, *TokenData::open(path, 200, sequence), now)->samples_done;
  };
  EXPECT_EQ(samples(true, 57, 11, 10), 57);
  EXPECT_EQ(samples(true, 57, 12, 10), 80);
  EXPECT_EQ(samples(false, 57, 11, 10), 80);
  EXPECT_EQ(samples(true, 57, std::nullopt, 10), 80);
  EXPECT_EQ(samples(true, 80, 12, 10), 80);
  EXPECT_EQ(samples(true, 57, 11, 24), 32);  // epochs of 16 samples
  EXPECT_EQ(samples(true, 40, 11, 24), 16);
}

TEST(Tokens, TheShippedTextServesEveryVocabulary) {
  EXPECT_GE(shipped_text().size(), 64u * 1024);
  const auto plain = TokenData::shipped_text(32000, 512);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->token(0), shipped_text()[0]);
  const auto small = TokenData::shipped_text(7, 128);
  ASSERT_TRUE(small);
  std::vector<std::int32_t> inputs(256), targets(256);
  small->fill_batch({0, 1, 1, 0, 1, 2}, {}, inputs.data(), targets.data());
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(inputs[i], shipped_text()[i] % 7);
  const auto too_long = TokenData::shipped_text(256, 1 << 20);
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().text().find("less than one sample"), std::string::npos);
}

// What `numpy.save` of NumPy 2.4 writes of numpy.arange(5, dtype=numpy.uint16).
TEST(Tokens, ReadsWhatNumPyWrites) {
  const std::string dict = "{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }";
  const std::string file = std::string("\x93NUMPY\x01\x00v\x00", 10) + dict +
                           std::string(0x76 - 1 - dict.size(), ' ') + '\n' +
                           std::string("\x00\x00\x01\x00\x02\x00\x03\x00\x04\x00", 10);
  const TemporaryFolder folder;
  const auto data = TokenData::open(folder.write("x.npy", file), 5, 4);
  ASSERT_TRUE(data) << data.error().text();
  ASSERT_EQ(data->tokens(), 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(data->token(i), i);
}

TEST(Tokens, ReadsTheReferenceTokens) {
  const std::string path = FORESHARD_SOURCE_DIR "/tests/evidence/training/gpl-3.npy";
  const auto data = TokenData::open(path, 259, 64);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->tokens(), 35149);
  EXPECT_FALSE(TokenData::open(path, 100, 64));
}

}  // namespace
}  // namespace foreshard::executor
