// The answers of the program have the form that docs/schema/ describes, of which every answer names
// the version.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

const std::filesystem::path kSchemas = FORESHARD_SOURCE_DIR "/docs/schema";
const std::string kSamples = FORESHARD_SOURCE_DIR "/traces/samples/";

// What of an answer is not as its schema requires, a line each.
std::string misfits(const std::string& schema_name, const json& answer) {
  const json document = json::parse(std::ifstream(kSchemas / (schema_name + ".json")));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(NlohmannJsonAdapter(document), schema);
  valijson::ValidationResults results;
  valijson::Validator validator;
  std::string found;
  if (!validator.validate(schema, NlohmannJsonAdapter(answer), &results)) {
    for (valijson::ValidationResults::Error error; results.popError(error);) {
      for (const std::string& step : error.context) found += step;
      found += ": " + error.description + "\n";
    }
  }
  return found;
}

struct Question {
  const char* schema;
  std::vector<std::string> command;
  int status = 0;
};

TEST(Schema, AnswersHaveTheFormThatIsDescribed) {
  const Workplace place;
  ASSERT_EQ(place
                .shell("for f in run out_of_memory; do gunzip -c '" + kSamples +
                       "'$f.fst.gz > $f.fst || exit 1; done")
                .status,
            0);
  ASSERT_EQ(
      place
          .shell("mkdir first second && cp '" + kSamples +
                 "snapshot.pickle' first/rank0.pickle && cp first/rank0.pickle second && cp '" +
                 kSamples + "snapshot.pickle' second/rank1.pickle")
          .status,
      0);
  const std::vector<Question> questions = {
      {"train", job("train", 2, {"--steps", "3", "--trace", "trained.fst"})},
      {"train", job("train", 2, {"--steps", "1", "--device-memory", "1MiB"}), 3},
      {"predict", job("predict", 2, {"--machine", "h100-sxm"})},
      {"predict", job("predict", 2, {"--machine", "h100-sxm", "--device-memory", "1MiB"})},
      {"predict", job("predict", 2, {"--machine", "h100-sxm", "--explain"})},
      {"predict", job("predict", 2, {"--machine", "tpu-v5p", "--explain"})},
      {"program", job("program", 2)},
      {"inspect", {"inspect", "run.fst"}},
      {"inspect", {"inspect", "out_of_memory.fst"}},
      {"inspect", {"inspect", "run.fst", "--rank", "1", "--step", "2-3", "--from", "0ms"}},
      {"inspect_recordings", {"inspect", "run.fst", "out_of_memory.fst"}},
      {"compare", {"compare", "run.fst", "trained.fst"}},
      {"compare", {"compare", "run.fst", "out_of_memory.fst"}},
      {"predict", job("predict", 2,
                      {"--machine", "h100-sxm", "--memory-events", "e.jsonl.gz",
                       "--memory-snapshot", "e.pickle"})},
      {"compare_histories", {"compare", "e.jsonl.gz", "e.pickle"}},
      {"compare_histories", {"compare", "e.pickle", kSamples + "snapshot.pickle"}},
      {"compare_histories", {"compare", "e.jsonl.gz", kSamples + "history.jsonl.gz"}},
      {"compare_snapshots", {"compare", "first", "second"}},
      {"inspect", {"inspect", "second"}},
      {"import", {"import", "kineto", kSamples + "drawn_gpu", "-o", "gpu.fst"}},
      {"inspect", {"inspect", "gpu.fst"}},
      {"whatif", {"whatif", "gpu.fst", "--scale", "*=0.5"}},
      {"import", {"import", "snapshot", kSamples + "snapshot.pickle", "-o", "memory.fst"}},
      {"inspect", {"inspect", "memory.fst"}},
      {"compare", {"compare", "gpu.fst", "memory.fst"}},
      {"query",
       {"query", "run.fst", "SELECT kind, count(*), avg(bytes), NULL FROM EVENTS GROUP BY 1"}},
      {"collective",
       {"collective", "--machine", "tpu-v5e", "--kind", "all_gather", "--bytes", "64MiB", "--ranks",
        "8"}},
      {"collective",
       {"collective", "--machine", "h100-sxm", "--kind", "all_gather", "--bytes", "64MiB",
        "--ranks", "16"}},
      {"search",
       {"search", "--model", "model", "--machines", "h100-sxm,mi300x", "--gpus", "2,4",
        "--train-tokens", "1e9"}},
      {"search",
       {"search", "--model", "model", "--machines", "h100-sxm", "--gpus", "2", "--device-memory",
        "1MiB"}},
      {"list", {"list", "models"}},
      {"list", {"list", "machines"}},
      {"replay", {"replay", kSamples + "snapshot.pickle"}},
      {"replay", {"replay", kSamples + "history.jsonl.gz", "--capacity", "40GiB"}},
  };
  for (const auto& [schema, command, status] : questions) {
    const json answer = place.run_json(command, status);
    EXPECT_EQ(misfits(schema, answer), "") << testing::PrintToString(command);
    EXPECT_EQ(answer.value("schema_version", 0), 1) << testing::PrintToString(command);
  }
}

// A command that writes in place of a rehearsal's hooks what they would.
TEST(Schema, RehearsalsHaveTheFormThatIsDescribed) {
  const Workplace place;
  place.write("libforeshard_rehearsal.so", "");
  place.write("hooks/sitecustomize.py", "");
  for (const auto& [record, status] : {std::pair("whole", 0), std::pair("out_of_memory", 3)}) {
    const std::string path =
        std::string(FORESHARD_SOURCE_DIR "/tests/fuzz/corpus/rehearsal_record/") + record + ".json";
    const Outcome outcome =
        place.run({"rehearse", "--json", "-", "-o", "rehearsed.fst", "--", "sh", "-c",
                   "cat '" + path + "' > \"$FORESHARD_REHEARSAL_RECORD\""},
                  {{"FORESHARD_MODULES", place.path("").string()}});
    EXPECT_EQ(outcome.status, status) << outcome.err;
    const json answer = json::parse(outcome.out);
    EXPECT_EQ(misfits("rehearse", answer), "");
    EXPECT_EQ(answer.value("schema_version", 0), 1);
    EXPECT_FALSE(answer.at("steps").empty());
  }
}

TEST(Schema, FindsWhatDoesNotFit) {
  EXPECT_NE(misfits("import", {{"schema_version", 1}}), "") << "a field is missing";
  EXPECT_NE(misfits("import", {{"schema_version", 2}, {"traces", json::array()}}), "");
  EXPECT_NE(misfits("import", {{"schema_version", 1}, {"traces", json::array()}, {"more", 1}}), "");
  EXPECT_EQ(misfits("import", {{"schema_version", 1}, {"traces", json::array()}}), "");
}

}  // namespace
}  // namespace foreshard::cli_tests
