// The contract of the command line: the fields of each JSON answer, exit statuses, and that one
// command's files are what the next one takes.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

void expect_fields(const json& object, const std::vector<std::string>& fields) {
  for (const auto& field : fields) EXPECT_TRUE(object.contains(field)) << field << " in " << object;
}

void expect_memory(const json& answer, int ranks, int steps) {
  ASSERT_EQ(answer.at("ranks_memory").size(), static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const json& memory = answer["ranks_memory"][static_cast<std::size_t>(rank)];
    EXPECT_EQ(memory.at("rank"), rank);
    EXPECT_GT(memory.at("peak_allocated_bytes"), 0);
    EXPECT_GE(memory.at("peak_active_bytes"), memory.at("peak_allocated_bytes"));
    EXPECT_GE(memory.at("peak_reserved_bytes"), memory.at("peak_active_bytes"));
    EXPECT_GE(memory.at("peak_host_bytes"), 0);
  }
  EXPECT_EQ(answer.at("steps_memory").size(), static_cast<std::size_t>(ranks * steps));
  for (const json& memory : answer["steps_memory"]) {
    expect_fields(memory, {"step", "rank", "peak_allocated_bytes", "peak_reserved_bytes",
                           "peak_active_bytes"});
  }
}

json read_json(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return json::parse(stream, nullptr, false);
}

TEST(Contract, AProgramIsNamedAlikeEverywhere) {
  const Workplace place;
  const std::string hash = place.run_json(job("program", 2)).at("program_hash");
  EXPECT_EQ(hash.size(), 16u);
  ASSERT_EQ(place.run(job("predict", 2, {"--trace", "p.fst"})).status, 0);
  ASSERT_EQ(place.run({"export", "p.fst", "--csv", "tables"}).status, 0);
  const std::string metadata = tests::read_file(place.path("tables/metadata.csv").string());
  EXPECT_NE(metadata.find("program_hash," + hash), std::string::npos) << metadata;
}

TEST(Contract, TrainReportsEveryStepAndRank) {
  const Workplace place;
  const json answer = place.run_json(job("train", 2, {"--steps", "4", "--trace", "run.fst"}));
  EXPECT_EQ(answer.at("ranks"), 2);
  expect_fields(answer, {"model", "step_time_ns", "tokens_per_s", "trace"});
  EXPECT_TRUE(answer.at("oom").is_null());
  ASSERT_EQ(answer.at("steps").size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const json& step = answer["steps"][i];
    EXPECT_EQ(step.at("step"), i + 1);
    EXPECT_EQ(step.at("tokens"), 2 * 1 * 16);
    EXPECT_GT(step.at("time_ns"), 0);
    EXPECT_GT(step.at("grad_norm"), 0.0);
  }
  // A model that has learnt nothing yet spreads its guesses over 256 tokens: ln 256 = 5.55.
  EXPECT_NEAR(answer["steps"][0].at("loss"), 5.55, 0.3);
  EXPECT_LT(answer["steps"][3].at("loss"), answer["steps"][0].at("loss"));
  expect_memory(answer, 2, 4);
  EXPECT_TRUE(std::filesystem::exists(place.path("run.fst")));
}

TEST(Contract, PredictAnswersWhatTrainThenMeasures) {
  const Workplace place;
  const json predicted = place.run_json(job("predict", 2, {"--steps", "3"}));
  EXPECT_EQ(predicted.at("fits"), true);
  EXPECT_TRUE(predicted.at("oom").is_null());
  EXPECT_LE(predicted.at("step_time_low_ns"), predicted.at("step_time_ns"));
  EXPECT_GE(predicted.at("step_time_high_ns"), predicted.at("step_time_ns"));
  expect_fields(predicted, {"model", "ranks", "tokens_per_s", "mfu", "exposed_communication_ns",
                            "prediction_ns"});
  expect_fields(predicted.at("peak"), {"phase", "unit", "by_category_bytes"});
  expect_fields(predicted.at("cost_sources"), {"measured", "fitted", "modelled", "unknown"});
  expect_fields(predicted, {"mfu_convention", "critical_path_communication_share"});
  double on_path = 0;
  for (const json& part : predicted.at("critical_path")) {
    EXPECT_FALSE(part.at("name").get<std::string>().empty());
    on_path += part.at("share").get<double>();
  }
  EXPECT_NEAR(on_path, 1, 1e-9);
  EXPECT_FALSE(predicted.at("slack").empty());
  for (const json& slack : predicted.at("slack")) {
    EXPECT_FALSE(slack.at("name").get<std::string>().empty());
    EXPECT_GE(slack.at("slack_ns"), 0);
  }
  expect_memory(predicted, 2, 3);
  const json measured = place.run_json(job("train", 2, {"--steps", "3"}));
  EXPECT_EQ(predicted.at("ranks_memory"), measured.at("ranks_memory"));
  EXPECT_EQ(predicted.at("steps_memory"), measured.at("steps_memory"));
}

// The schema marks the former names and refers to the present ones.
TEST(Contract, DeprecatedKeysHaveTheValueOfTheirSuccessors) {
  const json schema = read_json(FORESHARD_SOURCE_DIR "/docs/schema/predict.json");
  const Workplace place;
  const json basis = place.run_json(job("predict", 2, {"--machine", "h100-sxm", "--explain"}))
                         .at("step_time_basis");
  std::map<std::string, std::string> successors;
  for (const auto& [key, form] : schema["properties"]["step_time_basis"]["properties"].items()) {
    if (!form.value("deprecated", false)) continue;
    const std::string path = form["allOf"][0]["$ref"];
    successors[key] = path.substr(path.rfind('/') + 1);
  }
  EXPECT_EQ(successors,
            (std::map<std::string, std::string>{{"doubts", "uncertainty_components"},
                                                {"narrowing", "recommended_measurement"}}));
  for (const auto& [key, successor] : successors) {
    EXPECT_FALSE(basis.at(successor).empty()) << successor;
    EXPECT_EQ(basis.at(key), basis.at(successor)) << key;
  }
}

TEST(Contract, RecordFitPredictCompareInspectExport) {
  const Workplace place;
  place.run_json(job("train", 2, {"--steps", "5", "--trace", "run.fst"}));
  const Outcome fitted = place.run({"fit", "run.fst", "-o", "costs.json"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_TRUE(read_json(place.path("costs.json")).is_object());

  const json predicted = place.run_json(
      job("predict", 2, {"--steps", "5", "--costs", "costs.json", "--trace", "predicted.fst"}));
  EXPECT_GT(predicted.at("cost_sources").at("measured"), 0);

  // What was learnt about a processor does not hold for a machine of the catalogue.
  const Outcome mixed =
      place.run(job("predict", 2, {"--costs", "costs.json", "--machine", "h100-sxm"}));
  EXPECT_EQ(mixed.status, 2);
  EXPECT_NE(mixed.err.find("costs.json: machine.name"), std::string::npos) << mixed.err;

  const json compared = place.run_json({"compare", "run.fst", "predicted.fst"});
  expect_fields(compared, {"step_time_error", "by_category", "events_unmatched"});
  EXPECT_EQ(compared.at("peak_allocated_error_bytes"), 0);
  EXPECT_EQ(compared.at("peak_reserved_error_bytes"), 0);
  EXPECT_GT(compared.at("events_matched"), 0);

  for (const std::string trace : {"run.fst", "predicted.fst"}) {
    const json inspected = place.run_json({"inspect", trace});
    EXPECT_EQ(inspected.at("complete"), true);
    EXPECT_EQ(inspected.at("dropped_records"), 0);
    expect_fields(inspected, {"complete_until_ns", "operators", "warnings"});
    ASSERT_EQ(inspected.at("ranks").size(), 2u);
    for (const json& rank : inspected["ranks"]) {
      expect_fields(rank,
                    {"rank", "events", "device_events", "span_ns", "compute_ns", "communication_ns",
                     "memory_operation_ns", "idle_ns", "overlap_ns", "exposed_communication_ns",
                     "peak_allocated_bytes", "peak_reserved_bytes"});
      expect_fields(rank.at("peak"), {"time_ns", "by_category_bytes", "owners"});
      EXPECT_GE(rank.at("span_ns"), rank.at("compute_ns"));
    }
  }

  const Outcome exported = place.run({"export", "run.fst", "--perfetto", "run.json"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  const json timeline = read_json(place.path("run.json"));
  ASSERT_TRUE(timeline.contains("traceEvents"));
  EXPECT_GT(timeline["traceEvents"].size(), 100u);
}

TEST(Contract, CostsOfAGpuWithoutKernelsOfOursAreRefusedByTheirFile) {
  const Workplace place;
  place.run_json(job("train", 2, {"--steps", "3", "--trace", "run.fst"}));
  ASSERT_EQ(place.run({"fit", "run.fst", "-o", "costs.json"}).status, 0);
  json costs = read_json(place.path("costs.json"));
  costs["machine"]["accelerator"] = true;
  costs["machine"]["name"] = "Tesla V100-SXM2-16GB";
  place.write("costs.json", costs.dump());
  const Outcome refused = place.run(job("predict", 2, {"--costs", "costs.json"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("costs.json: v100-sxm2-16: has no GPU"), std::string::npos)
      << refused.err;
}

TEST(Contract, UnknownCostsAreNoTimeAndAMachineMakesThemOne) {
  const Workplace place;
  place.run_json(job("train", 2, {"--steps", "3", "--trace", "run.fst"}));
  ASSERT_EQ(place.run({"fit", "run.fst", "-o", "costs.json"}).status, 0);
  // The same as if a device that no catalogue has had been recorded, without its collectives.
  json costs = read_json(place.path("costs.json"));
  costs["machine"]["accelerator"] = true;
  costs["machine"]["name"] = "Nobody's Device";
  for (json& regime : costs["regimes"]) {
    regime["collectives"] = json::array();
    json kept = json::array();
    for (const json& cost : regime["measured"]) {
      if (!cost.at("cost_key").get<std::string>().starts_with("all_gather ")) kept.push_back(cost);
    }
    regime["measured"] = kept;
  }
  place.write("costs.json", costs.dump());

  const json unknown =
      place.run_json(job("predict", 2, {"--costs", "costs.json", "--trace", "predicted.fst"}));
  EXPECT_GT(unknown.at("cost_sources").at("unknown"), 0);
  for (const char* field : {"step_time_ns", "step_time_low_ns", "step_time_high_ns", "tokens_per_s",
                            "mfu", "exposed_communication_ns", "critical_path", "slack"}) {
    EXPECT_TRUE(unknown.at(field).is_null()) << field;
  }
  EXPECT_EQ(unknown.at("fits"), true);
  const Outcome text = place.run(job("predict", 2, {"--costs", "costs.json"}));
  EXPECT_NE(text.out.find("unknown"), std::string::npos) << text.out;
  EXPECT_NE(text.err.find("all_gather"), std::string::npos) << text.err;
  // Its operators are those for a GPU, not for this machine's processor.
  EXPECT_NE(text.err.find("the job's device is not in the catalogue"), std::string::npos)
      << text.err;
  EXPECT_NE(text.err.find("--machine"), std::string::npos) << text.err;
  // Neither compare nor inspect takes its trace for a time.
  EXPECT_TRUE(
      place.run_json({"compare", "run.fst", "predicted.fst"}).at("step_time_error").is_null());
  EXPECT_FALSE(place.run_json({"inspect", "predicted.fst"}).at("warnings").empty());

  const json known =
      place.run_json(job("predict", 2, {"--costs", "costs.json", "--machine", "h100-sxm"}));
  EXPECT_EQ(known.at("cost_sources").at("unknown"), 0);
  EXPECT_GT(known.at("cost_sources").at("measured"), 0);
  EXPECT_GT(known.at("step_time_ns"), 0);
}

TEST(Contract, TracesHoldTheHostsMemoryToo) {
  const Workplace place;
  place.write("plan.toml",
              "[batch]\nmicro_batch = 1\nsequence = 16\n[offload]\nparameters = true\n"
              "activations = true\n");
  const json measured = place.run_json(job("train", 2, {"--steps", "3", "--trace", "run.fst"}));
  place.run_json(job("predict", 2, {"--steps", "3", "--trace", "predicted.fst"}));
  for (const std::string trace : {"run.fst", "predicted.fst"}) {
    const json inspected = place.run_json({"inspect", trace});
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(inspected.at("ranks").at(rank).at("peak_host_bytes"),
                measured.at("ranks_memory").at(rank).at("peak_host_bytes"))
          << trace;
    }
  }
}

TEST(Contract, JsonGoesToAFileToo) {
  const Workplace place;
  const Outcome outcome = place.run(job("predict", 2, {"--json", "answer.json"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_json(place.path("answer.json")).at("fits"), true);
}

TEST(Contract, OutOfMemoryIsForeseenAtTheSameInstruction) {
  const Workplace place;
  const std::vector<std::string> limit = {"--steps", "3", "--device-memory", "2300000"};
  const json predicted = place.run_json(job("predict", 2, limit));
  const json measured = place.run_json(job("train", 2, limit), 3);
  EXPECT_EQ(predicted.at("fits"), false);
  expect_fields(predicted.at("oom"), {"step", "rank", "instruction", "operator", "unit", "phase",
                                      "requested_bytes", "allocated_bytes", "reserved_bytes"});
  EXPECT_EQ(predicted.at("oom"), measured.at("oom"));
}

TEST(Contract, MemoryThatBelongsToNoUnitIsNotTheRoots) {
  const Workplace place;
  const Outcome outcome =
      place.run(job("train", 2, {"--steps", "1", "--device-memory", "2300000"}));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.err.find(" \n"), std::string::npos) << outcome.err;
  std::istringstream lines(outcome.err);
  std::map<std::string, std::set<std::string>> units;  // by category
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string bytes, unit_of_bytes, category, unit;
    if (words >> bytes >> unit_of_bytes >> category) {
      words >> unit;
      units[category].insert(unit);
    }
  }
  EXPECT_EQ(units["workspaces"], std::set<std::string>{""}) << outcome.err;
  EXPECT_TRUE(units["parameters"].contains("root")) << outcome.err;
}

TEST(Contract, MemoryTakesUnits) {
  const Workplace place;
  const auto with = [&](const std::string& memory) {
    json answer = place.run_json(job("predict", 2, {"--device-memory", memory}));
    return answer.at("fits").get<bool>();
  };
  EXPECT_TRUE(with("2GiB"));
  EXPECT_FALSE(with("1MiB"));
}

TEST(Contract, ResumedRunEqualsTheUninterrupted) {
  const Workplace place;
  const json whole = place.run_json(job("train", 2, {"--steps", "6"}));
  place.run_json(job("train", 2, {"--steps", "3", "--save", "checkpoint"}));
  const json rest = place.run_json(job("train", 2, {"--steps", "6", "--resume", "checkpoint"}));
  ASSERT_EQ(rest.at("steps").size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rest["steps"][i].at("step"), i + 4);
    EXPECT_EQ(rest["steps"][i].at("loss"), whole["steps"][i + 3].at("loss"));
    EXPECT_EQ(rest["steps"][i].at("grad_norm"), whole["steps"][i + 3].at("grad_norm"));
  }
}

TEST(Contract, AScheduleEndsWhereItEndsOrIsExtended) {
  const Workplace place;
  place.write("plan.toml", place.read("plan.toml") + "[optimizer]\nschedule = \"cosine\"\n");
  const json whole = place.run_json(job("train", 2, {"--steps", "6"}));
  place.run_json(job("train", 2, {"--steps", "4", "--save", "ended"}));
  const Outcome refused = place.run(job("train", 2, {"--steps", "6", "--resume", "ended"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("schedule ends at step 4"), std::string::npos) << refused.err;
  const Outcome first = place.run(job("train", 2, {"--steps", "6", "--total-steps", "5"}));
  EXPECT_EQ(first.status, 2) << first.err;
  const auto extended = job("train", 2,
                            {"--steps", "6", "--resume", "ended", "--total-steps", "6",
                             "--export-weights", "extended.safetensors"});
  EXPECT_EQ(place.run(extended).status, 0);
  ASSERT_EQ(
      place.run(job("train", 2, {"--steps", "4", "--export-weights", "before.safetensors"})).status,
      0);
  EXPECT_NE(place.read("extended.safetensors"), place.read("before.safetensors"));
  place.run_json(job("train", 2, {"--steps", "4", "--total-steps", "6", "--save", "part"}));
  const json rest = place.run_json(job("train", 2, {"--steps", "6", "--resume", "part"}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rest["steps"][i].at("loss"), whole["steps"][i + 4].at("loss"));
  }
}

TEST(Contract, ExportedWeightsStartTheNextRun) {
  const Workplace place;
  place.run_json(job("train", 2,
                     {"--steps", "2", "--export-weights", "w.safetensors", "--export-gradients",
                      "g.safetensors"}));
  EXPECT_TRUE(std::filesystem::exists(place.path("g.safetensors")));
  const json next = place.run_json(job("train", 1, {"--steps", "1", "--init", "w.safetensors"}));
  EXPECT_EQ(next.at("steps").size(), 1u);
}

TEST(Contract, ExportsAModelFolder) {
  const Workplace place;
  const auto exporting = [](const std::string& to, const std::string& dtype) {
    return job("train", 2, {"--steps", "2", "--export-weights", to, "--export-dtype", dtype});
  };
  place.run_json(exporting("exported", "fp32"));
  place.run_json(exporting("exported.safetensors", "fp32"));
  EXPECT_EQ(place.read("exported/model.safetensors"), place.read("exported.safetensors"));
  const auto size = place.read("exported.safetensors").size();
  place.run_json(exporting("exported", "bf16"));
  EXPECT_LT(place.read("exported/model.safetensors").size(), size * 6 / 10);
  place.run_json({"train", "--model", "exported", "--plan", "plan.toml", "--init", "exported",
                  "--ranks", "1", "--steps", "1"});
  place.write("exported/notes.txt", "mine");
  const Outcome refused = place.run(exporting("exported", "fp32"));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("exported"), std::string::npos) << refused.err;
  const Outcome alone = place.run(job("train", 2, {"--steps", "2", "--export-dtype", "bf16"}));
  EXPECT_EQ(alone.status, 2);
  EXPECT_NE(alone.err.find("--export-weights"), std::string::npos) << alone.err;
}

TEST(Contract, AFailingRankIsNamed) {
  const Workplace place;
  const Outcome outcome = place.run(job("train", 3, {"--steps", "20", "--trace", "run.fst"}),
                                    {{"FORESHARD_FAULT", "rank:1,step:2,kind:throw"}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
  EXPECT_GT(place.run_json({"inspect", "run.fst"}).at("complete_until_ns"), 0);
}

TEST(Contract, FitTakesARecordingOnceAndNoPrediction) {
  const Workplace place;
  ASSERT_EQ(place.run(job("train", 2, {"--steps", "4", "--trace", "run.fst"})).status, 0);
  ASSERT_EQ(place.run({"export", "run.fst", "--perfetto", "run.json"}).status, 0);
  ASSERT_EQ(place.run({"import", "kineto", "run.json", "-o", "again.fst"}).status, 0);
  const Outcome twice = place.run({"fit", "run.fst", "again.fst", "-o", "costs.json"});
  EXPECT_EQ(twice.status, 0);
  EXPECT_NE(twice.err.find("again.fst: is the same recording as run.fst"), std::string::npos)
      << twice.err;
  ASSERT_EQ(place.run(job("predict", 2, {"--trace", "p.fst"})).status, 0);
  const Outcome refused = place.run({"fit", "run.fst", "p.fst", "-o", "none.json"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("p.fst: predicted"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(place.path("none.json")));
}

TEST(Contract, AFullDiskIsAFailureThatNamesTheFile) {
  const Workplace place;
  const Outcome outcome = place.run(job("predict", 2, {"--json", "/dev/full"}));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("/dev/full"), std::string::npos) << outcome.err;
}

TEST(Contract, HelpShowsAnExampleOfEachCommand) {
  const Workplace place;
  for (const std::string command :
       {"train", "fit", "predict", "compare", "inspect", "export", "program"}) {
    const Outcome outcome = place.run({command, "--help"});
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_NE(outcome.out.find("foreshard " + command + " "), std::string::npos) << outcome.out;
  }
}

TEST(Contract, QuietLeavesWarningsOnly) {
  const Workplace place;
  const Outcome quiet = place.run(job("train", 2, {"--steps", "2", "--quiet"}));
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_NE(quiet.out.find("loss"), std::string::npos) << quiet.out;
  place.write("plan.toml", place.read("plan.toml") + "[checkpointing]\nevery = 3\n");
  const Outcome warned = place.run(job("train", 2, {"--steps", "2", "-q"}));
  EXPECT_TRUE(warned.err.starts_with("foreshard: warning: ")) << warned.err;
  EXPECT_EQ(std::count(warned.err.begin(), warned.err.end(), '\n'), 1) << warned.err;
}

TEST(Contract, QuietLeavesOutWhereAPlanCameFrom) {
  const Workplace place;
  place.write("zero.json", R"({"train_micro_batch_size_per_gpu": 1,
                               "zero_optimization": {"stage": 3}, "bf16": {"enabled": true}})");
  const std::vector<std::vector<std::string>> commands{
      {"plan", "--from", "zero.json"},
      {"program", "--model", "model", "--ranks", "2", "--plan", "zero.json", "--machine",
       "h100-sxm"},
      {"predict", "--model", "model", "--ranks", "2", "--plan", "zero.json", "--machine",
       "h100-sxm"}};
  for (std::vector<std::string> command : commands) {
    EXPECT_NE(place.run(command).err.find("foreshard: note: zero.json"), std::string::npos);
    command.emplace_back("-q");
    const Outcome quiet = place.run(command);
    EXPECT_EQ(quiet.status, 0) << quiet.err;
    EXPECT_EQ(quiet.err.find("note:"), std::string::npos) << quiet.err;
  }
  EXPECT_EQ(place
                .run({"collective", "--machine", "h100-sxm", "--kind", "all_gather", "--bytes",
                      "1MiB", "--ranks", "8", "--quiet"})
                .status,
            0);
}

TEST(Contract, WithoutAPlanEveryKeyHasItsDefault) {
  const Workplace place;
  place.write("defaults.toml", place.run({"plan", "--defaults"}).out);
  const auto program = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"program", "--model", "model", "--ranks", "2"});
    return place.run_json(more);
  };
  EXPECT_EQ(program({}), program({"--plan", "defaults.toml"}));
  EXPECT_NE(program({}), program({"--plan", "plan.toml"}));
}

TEST(Contract, ListsWhatModelAndMachineTake) {
  const Workplace place;
  const json machines = place.run_json({"list", "machines"});
  ASSERT_GT(machines.at("machines").size(), 20u);
  for (const json& machine : machines["machines"]) {
    expect_fields(machine,
                  {"id", "name", "gpus_per_node", "memory_bytes", "link_gb_s", "network_gb_s"});
    EXPECT_GT(machine.at("memory_bytes"), 0) << machine;
  }
  place.write("eager.toml",  // these operators run every family
              "operators = \"pytorch-eager\"\n[pytorch]\nimplementation = \"transformers\"\n");
  const json models = place.run_json({"list", "models"});
  for (const json& model : models.at("models")) {
    EXPECT_EQ(place
                  .run({"program", "--model", model.at("name"), "--plan", "eager.toml", "--ranks",
                        "1", "--json", "p.json"})
                  .status,
              0)
        << model;
  }
}

TEST(Contract, ProgramIsPrintedForAPerson) {
  const Workplace place;
  const Outcome outcome = place.run(job("program", 2));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string word : {"model.layers.0", "all_gather", "reduce_scatter", "attention"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
  }
}

TEST(Contract, CatalogueAnswersForMachinesThatAreNotHere) {
  const Workplace place;
  const json answer = place.run_json({"predict", "--model", "llama-3.1-8b", "--plan", "plan.toml",
                                      "--ranks", "8", "--machine", "h100-sxm"});
  EXPECT_EQ(answer.at("cost_sources").at("measured"), 0);
  EXPECT_GT(answer.at("cost_sources").at("modelled"), 0);
  EXPECT_EQ(answer.at("ranks_memory").size(), 8u);
}

}  // namespace
}  // namespace foreshard::cli_tests
