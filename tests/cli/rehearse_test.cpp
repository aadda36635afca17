// What `foreshard rehearse` says before it runs anything; what it runs is tested in tests/profiler/rehearsal,
// where Python is.
#include <cstdint>
#include <filesystem>
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
           {{"--machine", "mi300x"}, "--machine: mi300x is of AMD; expected GPUs of NVIDIA"},
           {{"--ranks", "4", "--rank", "0,4"}, "--rank: 4 is not a rank of the job"},
           {{"--rank", "0,"}, "--rank: '0,' names no ranks"},
           {{"--rank", "all"}, "--rank: 'all' names no ranks"},
           {{"--rank", "-1"}, "--rank: '-1' names no ranks"},
           {{"--ranks", "4", "--real-ranks", "0,4"}, "--real-ranks: 4 is not a rank of the job"},
           {{"--ranks", "4", "--real-ranks", "2"},
            "--real-ranks: '2' names 1 rank; expected 2 to 64"},
           {{"--ranks", "4", "--real-ranks", "all-shapes"},
            "--real-ranks: 'all-shapes' names no ranks; expected a list such as 0,4"},
           {{"--ranks", "4", "--rank", "1", "--real-ranks", "0,1"},
            "--real-ranks: was given with --rank; expected one of them"},
           {{"--routing", "zipf"}, "--routing: 'zipf' is not a law of routers"},
           {{"--routing", "zipf:0"}, "--routing: 'zipf:0' is not a law of routers"},
           {{"--weights", "none"}, "--weights"},
           {{"--data", "none"}, "--data: 'none' is no kind of data"},
           {{"--data", "synthetic:,text"}, "--data: 'synthetic:,text' is no kind of data"},
           {{"--vary", "--layers {2}"}, "--vary: has no alternatives"},
           {{"--vary", "{0,1}{0,1}{0,1}{0,1} {0,1}{0,1}{0,1}"}, "--vary: expands to more than 64"},
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
  place.write("hooks/sitecustomize.py", "");
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
                           {"ranks", 1},
                           {"representatives", {0}},
                           {"pipeline", nlohmann::json::array()},
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
           {R"({"representatives": [-1]})", "representatives[0]"},
           {R"({"pipeline": [4]})", "pipeline[0]"},
           {R"({"ranks": 0})", "ranks"},
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

// In the place of Python: a shell script that leaves the record of a run behind, as the hooks do. Its peak is 100
// bytes for each rank and 1,000 for each --layers; rank 9 runs out of memory.
class StandIn : public ::testing::Test {
 protected:
  StandIn() {
    place_.write("libforeshard_rehearsal.so", "");
    std::filesystem::create_directories(place_.path("hooks"));
    place_.write("python3", R"(
rank=$FORESHARD_REHEARSAL_RANK; peak=$((100 * (rank + 1))); oom=null; status=0
ranks=${FORESHARD_REHEARSAL_RANKS:-8}; kinds='[0]'; [ "$ranks" -le 5 ] || kinds='[0, 5, 5]'
case "$*" in *"--layers 2"*) peak=$((peak + 2000));; *"--layers 4"*) peak=$((peak + 4000));; esac
[ "$ROOM" != less ] || peak=$((peak - 50))
[ "$rank" != 9 ] || { status=1; oom='{"step": 2, "rank": 9, "operator": null, "module": null, "where": "",
 "requested_bytes": 1, "allocated_bytes": 5, "reserved_bytes": 6}'; }
cat > "$FORESHARD_REHEARSAL_RECORD" <<END
{"torch": "9", "packages": {}, "ranks": $ranks, "representatives": $kinds, "pipeline": [],
 "steps": [{"step": 1, "peak_active_bytes": $peak, "peak_allocated_bytes": $peak,
 "peak_reserved_bytes": $peak, "launches": 0, "matrix_products": 0, "cudnn_executions": 0,
 "cudnn_workspace_bytes": 0, "copies": 0, "collectives": [], "host_reads": 0, "host_waits": 0}],
 "oom": $oom, "refused_allocation": null, "invented": [], "notes": [], "ended_because": null,
 "captured": false, "has_ended": true}
END
echo "$*:$RANK" >> ran; exit $status
)");
  }

  nlohmann::json answer(std::vector<std::string> options, int status = 0,
                        std::vector<std::string> command = {"sh", "python3", "run"}) {
    options.insert(options.begin(), {"--json", "-", "--steps", "1"});
    const Outcome outcome = place_.run(rehearse(std::move(options), command),
                                       {{"FORESHARD_MODULES", place_.path("").string()}});
    EXPECT_EQ(outcome.status, status) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }

  static std::vector<int> ranks_of(const nlohmann::json& told) {
    std::vector<int> ranks;
    for (const auto& row : told.at("ranks_rehearsed")) ranks.push_back(row.at("rank"));
    return ranks;
  }

  Workplace place_;
};

TEST_F(StandIn, OneRankIsNoList) {
  const auto told = answer({"--ranks", "8", "--rank", "3"});
  EXPECT_EQ(told.at("rank"), 3);
  EXPECT_FALSE(told.contains("ranks_rehearsed"));
}

TEST_F(StandIn, TheRankThatNeedsMostSpeaksForAList) {
  const auto told = answer({"--ranks", "8", "--rank", "3,7,0"});
  EXPECT_EQ(told.at("rank"), 7);
  EXPECT_EQ(told.at("fits"), true);
  EXPECT_EQ(ranks_of(told), (std::vector<int>{3, 7, 0}));
  EXPECT_EQ(told.at("ranks_rehearsed")[0].at("steps")[0].at("peak_reserved_bytes"), 400);
}

TEST_F(StandIn, AllShapesAreTheFirstTheLastAndTheKindsThatTheFirstNames) {
  EXPECT_EQ(ranks_of(answer({"--ranks", "8", "--rank", "all-shapes"})),
            (std::vector<int>{0, 5, 7}));
}

TEST_F(StandIn, ARankWithoutMemorySpeaksForAllWhateverOthersNeed) {
  const auto told = answer({"--ranks", "16", "--rank", "9,15"}, 3);
  EXPECT_EQ(told.at("rank"), 9);
  EXPECT_EQ(told.at("fits"), false);
  EXPECT_EQ(told.at("ranks_rehearsed")[1].at("fits"), true);
}

TEST_F(StandIn, ALauncherSaysHowManyRanksThereAreAndWhatTheyFind) {
  std::filesystem::rename(place_.path("python3"), place_.path("torchrun"));
  const auto told = answer({"--rank", "all-shapes"}, 0, {"sh", "torchrun", "run"});
  EXPECT_EQ(told.at("ranks"), 8);
  EXPECT_EQ(ranks_of(told), (std::vector<int>{0, 5, 7}));
  EXPECT_EQ(answer({"--ranks", "4"}, 0, {"sh", "torchrun", "run"}).at("ranks"), 4);
  EXPECT_EQ(place_.read("ran"), "run:\nrun:\nrun:\nrun:\n");
}

TEST_F(StandIn, BracesStandForEveryCombination) {
  const auto told = answer({"--vary", "ROOM={much,less} --layers {4,2} --plain"});
  std::vector<std::string> seen;
  for (const auto& row : told.at("variants")) {
    seen.push_back(row.at("environment").at("ROOM").get<std::string>() + " " +
                   row.at("command")[4].get<std::string>() + " " +
                   std::to_string(row.at("steps")[0].at("peak_reserved_bytes").get<int>()) + " " +
                   row.at("trace").get<std::string>());
    EXPECT_TRUE(std::filesystem::exists(place_.path(row.at("trace"))));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"much 4 4100 run.1.fst", "much 2 2100 run.2.fst",
                                            "less 4 4050 run.3.fst", "less 2 2050 run.4.fst"}));
  EXPECT_EQ(told.at("best"), 3);
  EXPECT_FALSE(std::filesystem::exists(place_.path("run.fst")));
}

TEST_F(StandIn, VariantsWithoutMemoryAreRowsAndTheStatusWhereNoneFits) {
  EXPECT_TRUE(
      answer({"--ranks", "10", "--rank", "9", "--vary", "--layers {2,4}"}, 3).at("best").is_null());
}

TEST_F(StandIn, TheTextMarksTheVariantThatNeedsLeast) {
  const Outcome outcome =
      place_.run(rehearse({"--steps", "1", "--vary", "--layers {4,2}"}, {"sh", "python3"}),
                 {{"FORESHARD_MODULES", place_.path("").string()}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("--layers 4 (run.1.fst)"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n  *"), std::string::npos) << outcome.out;
  EXPECT_LT(outcome.out.find("--layers 4"), outcome.out.find("\n  *")) << outcome.out;
}

}  // namespace
}  // namespace foreshard::cli_tests
