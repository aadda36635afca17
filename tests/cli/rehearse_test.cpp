// What `foreshard rehearse` says before it runs anything; what it runs is tested in tests/profiler/rehearsal,
// where Python is.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

// A command that writes the record itself in place of the hooks, beside a library that no one can load.
Outcome rehearse_record(const Workplace& place, const std::string& record) {
  place.write("libforeshard_rehearsal.so", "");
  place.write("rehearsal/python/sitecustomize.py", "");
  place.write("record.json", record);
  return place.run(rehearse({"--json", "answer.json"},
                            {"sh", "-c", "cat record.json > \"$FORESHARD_REHEARSAL_RECORD\""}),
                   {{"FORESHARD_MODULES", place.path("").string()}});
}

nlohmann::json whole_record() {
  nlohmann::json record = {{"torch", "2.11.0"},
                           {"packages", nlohmann::json::object()},
                           {"steps", nlohmann::json::array()},
                           {"oom", nullptr},
                           {"refused_allocation", nullptr},
                           {"invented", nlohmann::json::array()},
                           {"notes", {"a note"}},
                           {"ended_because", nullptr},
                           {"captured", false},
                           {"has_ended", true}};
  for (int step = 1; step <= 3; ++step) {
    record["steps"].push_back({{"step", step},
                               {"peak_active_bytes", 2048},
                               {"peak_allocated_bytes", 1024},
                               {"peak_reserved_bytes", 4096},
                               {"launches", 3},
                               {"matrix_products", 2},
                               {"cudnn_executions", 0},
                               {"cudnn_workspace_bytes", 0},
                               {"copies", 1},
                               {"collectives", nlohmann::json::array()},
                               {"host_reads", 1},
                               {"host_waits", 0}});
  }
  return record;
}

TEST(Rehearse, ARecordIsLookedAtBeforeItIsUsed) {
  const Workplace place;
  const nlohmann::json whole = whole_record();
  const Outcome good = rehearse_record(place, whole.dump());
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(nlohmann::json::parse(place.read("answer.json")).at("steps").size(), 3u);

  const std::string text = whole.dump();
  EXPECT_NE(rehearse_record(place, text.substr(0, text.size() / 2)).err.find("not a JSON object"),
            std::string::npos)
      << "a process that was killed while it wrote";
  for (const auto& [patch, field] : std::vector<std::pair<const char*, const char*>>{
           {R"({"refused": 7})", "refused"},
           {R"({"torch": 2.11})", "torch"},
           {R"({"packages": ["torch"]})", "packages"},
           {R"({"steps": [{"step": 1}]})", "steps[0].peak_active_bytes"},
           {R"({"steps": {}})", "steps"},
           {R"({"oom": {"step": "first"}})", "oom.step"},
           {R"({"invented": [{"what": "item"}]})", "invented[0].where"},
           {R"({"notes": [null]})", "notes[0]"},
           {R"({"has_ended": null})", "has_ended"}}) {
    nlohmann::json record = whole;
    record.update(nlohmann::json::parse(patch));
    const Outcome outcome = rehearse_record(place, record.dump());
    EXPECT_EQ(outcome.status, 2) << patch;
    EXPECT_NE(outcome.err.find("of which `" + std::string(field) +
                               "` is wrong; expected what the hooks of a rehearsal write"),
              std::string::npos)
        << outcome.err;
  }
}

TEST(Rehearse, StepsOfARecordAreWhatStepsCanBe) {
  const Workplace place;
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, nlohmann::json>>{{"step", 3},
                                                           {"copies", -1},
                                                           {"copies", 1.5},
                                                           {"copies", std::uint64_t{1} << 63},
                                                           {"peak_active_bytes", 512},
                                                           {"peak_reserved_bytes", 512}}) {
    nlohmann::json record = whole_record();
    record["steps"][1][key] = value;
    const Outcome outcome = rehearse_record(place, record.dump());
    EXPECT_EQ(outcome.status, 2) << key;
    EXPECT_NE(outcome.err.find(std::string("steps[1].") + key), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
