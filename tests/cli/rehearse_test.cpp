// What `foreshard rehearse` says before it runs anything; what it runs is tested in tests/profiler/rehearsal,
// where Python is.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

std::vector<std::string> rehearse(std::vector<std::string> options,
                                  const std::vector<std::string>& command) {
  options.insert(options.begin(), "rehearse");
  options.insert(options.end(), {"-o", "run.fst", "--"});
  options.insert(options.end(), command.begin(), command.end());
  return options;
}

TEST(Rehearse, OptionsThatCannotBeAreNamed) {
  const Workplace place;
  place.write("train.py", "");
  const std::vector<std::string> command{"python3", "train.py"};
  for (const auto& [options, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--ranks", "2", "--rank", "2"}, "--rank: 2 is not a rank of the job; expected 0 to 1"},
           {{"--rank", "1"}, "--rank: 1 is not a rank of the job; expected 0 to 0"},
           {{"--ranks", "0"}, "--ranks"},
           {{"--steps", "0"}, "--steps"},
           {{"--loss", "nan"}, "--loss"},
           {{"--machine", "h1000"}, "h1000"},
           {{"--device-memory", "much"}, "--device-memory"},
           {{"--json", "nowhere/answer.json"}, "nowhere"}}) {
    const Outcome outcome = place.run(rehearse(options, command));
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("; expected "), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Rehearse, ACommandIsNeeded) {
  const Workplace place;
  const Outcome outcome = place.run({"rehearse", "-o", "run.fst"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("COMMAND"), std::string::npos) << outcome.err;
}

TEST(Rehearse, AScriptThatIsNotThereIsNamed) {
  const Workplace place;
  const Outcome outcome = place.run(rehearse({}, {"python3", "missing.py"}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, "foreshard: error: missing.py: is not there; expected a Python script\n");
}

TEST(Rehearse, AMissingLibraryIsNamedAndNothingIsLeftBehind) {
  const Workplace place;
  place.write("train.py", "");
  const auto before = place.files();
  const Outcome outcome = place.run(rehearse({}, {"python3", "train.py"}),
                                    {{"FORESHARD_MODULES", place.path("").string()}});
  EXPECT_EQ(outcome.status, 2);
  for (const char* words : {"libforeshard_rehearsal.so", "is not there; expected "}) {
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(place.files(), before);
}

}  // namespace
}  // namespace foreshard::cli_tests
