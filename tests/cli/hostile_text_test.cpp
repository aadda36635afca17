// Names that come from files, folders and flags: none reaches a terminal with control characters in
// it, and none that is no UTF-8 costs a command its JSON.
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

// A window's title, colours, a C1 control character, a carriage return, and bytes that are no UTF-8.
const std::string kNames[] = {"\x1b]0;title\x07",
                              "\x1b[31mred",
                              "\xc2\x9b"
                              "31mred",
                              "over\rwritten",
                              "torn\xff\xfe",
                              "cut\xc3"};

bool is_fit_to_print(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 = i > 0 && text[i - 1] == '\xc2' && byte < 0xa0 && byte >= 0x80;
    const bool is_c0 = (byte < 0x20 && byte != '\n') || byte == 0x7f;
    if (is_c0 || is_c1 || byte == 0xff) return false;
  }
  return true;
}

void expect_fit_to_print(const Workplace& place, const std::vector<std::string>& arguments,
                         int status) {
  const Outcome outcome = place.run(arguments);
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_TRUE(is_fit_to_print(outcome.out)) << outcome.out;
  EXPECT_TRUE(is_fit_to_print(outcome.err)) << outcome.err;
}

std::string quoted(const std::string& name) {
  return nlohmann::json(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

TEST(HostileText, FoldersNamesDoNotCostTheAnswer) {
  const Workplace place;
  for (const std::string& name : kNames) {
    place.write(name + "/config.json", small_llama().dump());
    const std::vector<std::string> job = {"--model", name, "--plan", "plan.toml", "--ranks", "1"};
    const auto with = [&](const std::string& command, const std::vector<std::string>& more) {
      std::vector<std::string> all = {command};
      all.insert(all.end(), job.begin(), job.end());
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    EXPECT_EQ(place.run_json(with("predict", {})).at("ranks"), 1);
    EXPECT_EQ(place.run_json(with("program", {})).at("ranks"), 1);
    EXPECT_EQ(
        place.run_json(with("train", {"--steps", "1", "--trace", name + "/t.fst"})).at("ranks"), 1);
    expect_fit_to_print(place, with("predict", {}), 0);
    expect_fit_to_print(place, with("predict", {"--costs", name + "/none.json"}), 2);
    expect_fit_to_print(place, {"inspect", name + "/t.fst"}, 0);
    expect_fit_to_print(place, {"replay", name + "/none"}, 2);
  }
}

TEST(HostileText, RecordingsNamesAreFitToPrint) {
  const Workplace place;
  for (const std::string& name : kNames) {
    const std::string word = quoted(name);
    place.write("k.json",
                R"({"traceName": )" + word + R"(, "traceEvents": [)" +
                    R"({"ph": "X", "cat": "kernel", "name": )" + word +
                    R"(, "pid": 0, "tid": 7, "ts": 5, "dur": 20, "args": {"stream": 7}},)" +
                    R"({"ph": "X", "cat": )" + word +
                    R"(, "name": "x", "pid": 1, "tid": 2, "ts": 50, "dur": 1}]})");
    expect_fit_to_print(place, {"import", "kineto", "k.json", "-o", "o.fst"}, 0);
    expect_fit_to_print(place, {"inspect", "o.fst"}, 0);
    expect_fit_to_print(place, {"compare", "o.fst", "o.fst"}, 0);
    place.write("bad.toml", "[" + word + "]\nx = 1\n");
    expect_fit_to_print(place,
                        {"predict", "--model", "model", "--plan", "bad.toml", "--ranks", "1"}, 2);
  }
}

// What is left out is told with the beginning of its name, which ends between characters.
TEST(HostileText, LongNamesAreCutBetweenCharacters) {
  const Workplace place;
  std::string category;
  for (int i = 0; i < 40; ++i) category += "é";
  place.write("k.json", R"({"traceEvents": [{"ph": "X", "cat": "a)" + category +
                            R"(", "name": "x", "pid": 1, "tid": 2, "ts": 50, "dur": 1}]})");
  const auto answer = place.run_json({"import", "kineto", "k.json", "-o", "o.fst"});
  const std::string reasons = answer.at("traces").at(0).at("dropped").dump();
  EXPECT_NE(reasons.find("ééé"), std::string::npos) << reasons;
  EXPECT_EQ(reasons.find("\xef\xbf\xbd"), std::string::npos) << reasons;
}

// `script` of util-linux lends the program a terminal.
TEST(Colour, IsOfTerminalsThatHaveItAndOfNobodyWhoDeclines) {
  const Workplace place;
  const auto err = [&](const std::string& environment, const std::string& command) {
    return place.shell(environment + " " + command).out;
  };
  const std::string fails = "\"$FORESHARD\" inspect none.fst 2>&1";
  const std::string on_a_terminal = "script -qc '" + fails + "' /dev/null";
  EXPECT_NE(err("TERM=xterm NO_COLOR=", on_a_terminal).find("\x1b[1;31merror:\x1b[0m none.fst"),
            std::string::npos);
  EXPECT_EQ(err("TERM=xterm NO_COLOR=1", on_a_terminal).find('\x1b'), std::string::npos);
  EXPECT_EQ(err("TERM=dumb", on_a_terminal).find('\x1b'), std::string::npos);
  EXPECT_EQ(err("TERM=xterm", fails).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace foreshard::cli_tests
