// Files that cannot be opened, for every command that reads one: the same words, whatever it is that
// should stand in them, and exit status 2.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

// The arguments that read `file`, and what they expect to find there.
struct Input {
  std::string name;
  std::string file;
  std::vector<std::string> arguments;
  std::string expected;
  bool takes_folders = false;  // of such files

  friend std::ostream& operator<<(std::ostream& out, const Input& input) {
    return out << input.name;
  }
};

class InputFiles : public testing::TestWithParam<Input> {
 protected:
  void expect_refused(const std::string& what) {
    const Outcome outcome = place_.run(GetParam().arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    const std::string message =
        "foreshard: error: " + GetParam().file + ": " + what + "; expected " + GetParam().expected;
    EXPECT_EQ(outcome.err.substr(0, message.size()), message);
    EXPECT_EQ(outcome.out, "");
  }

  const Workplace place_;
};

TEST_P(InputFiles, ThatAreMissing) {
  expect_refused("no such file");
}

TEST_P(InputFiles, BelowAFileAreMissing) {
  place_.write(std::filesystem::path(GetParam().file).parent_path(), "");
  expect_refused("no such file");
}

TEST_P(InputFiles, ThatAreFolders) {
  std::filesystem::create_directories(place_.path(GetParam().file));
  if (GetParam().takes_folders) {
    const Outcome outcome = place_.run(GetParam().arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find(GetParam().file + ": contains no "), std::string::npos)
        << outcome.err;
  } else {
    expect_refused("is a folder");
  }
}

// Root may read every file by two capabilities, which programs that are started from here on lack.
bool may_be_refused_files() {
  return ::geteuid() != 0 || (::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) == 0 &&
                              ::prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH) == 0);
}

TEST_P(InputFiles, ThatMayNotBeRead) {
  if (!may_be_refused_files()) GTEST_SKIP() << "needs a user who may not read every file";
  std::filesystem::create_directories(place_.path(GetParam().file).parent_path());
  place_.write(GetParam().file, "{}");
  std::filesystem::permissions(place_.path(GetParam().file), std::filesystem::perms::none);
  expect_refused("cannot be opened (Permission denied)");
}

std::vector<std::string> planned(const std::string& command, const std::string& plan,
                                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = job(command, 2, more);
  *std::find(arguments.begin(), arguments.end(), "plan.toml") = plan;
  return arguments;
}

const auto kInputName = [](const auto& info) { return info.param.name; };

constexpr const char* kPlan =
    "a plan in TOML, or a configuration of Accelerate, DeepSpeed, torchtitan, transformers' "
    "Trainer, "
    "axolotl or LLaMA-Factory";
constexpr const char* kTrace = "a trace (.fst)";

INSTANTIATE_TEST_SUITE_P(
    Commands, InputFiles,
    testing::Values(
        Input{"Plan", "in/p.toml", planned("predict", "in/p.toml"), kPlan},
        Input{"PlanOfProgram", "in/p.toml", planned("program", "in/p.toml"), kPlan},
        Input{"PlanOfTrain", "in/p.toml", planned("train", "in/p.toml", {"--steps", "1"}), kPlan},
        Input{"Costs", "in/c.json", job("predict", 2, {"--costs", "in/c.json"}),
              "a cost file written by `foreshard fit`"},
        Input{"Machine", "in/m.csv", job("predict", 2, {"--machine", "in/m.csv:id"}),
              "a hardware catalogue in CSV"},
        Input{"Data", "in/d.bin", job("train", 2, {"--steps", "1", "--data", "in/d.bin"}),
              "tokens (.npy, .bin, .ds or .txt)", true},
        Input{"Weights", "in/w.safetensors",
              job("train", 2, {"--steps", "1", "--init", "in/w.safetensors"}),
              "weights in safetensors", true},
        Input{"Inspect", "in/t.fst", {"inspect", "in/t.fst"}, kTrace},
        Input{"Compare", "in/t.fst", {"compare", "in/t.fst", "in/t.fst"}, kTrace},
        Input{"Export", "in/t.fst", {"export", "in/t.fst", "--csv", "out"}, kTrace},
        Input{"Fit", "in/t.fst", {"fit", "in/t.fst", "-o", "costs.json"}, kTrace},
        Input{"Kineto",
              "in/t.json",
              {"import", "kineto", "in/t.json", "-o", "out.fst"},
              "a PyTorch profiler recording",
              true},
        Input{"Nsys",
              "in/t.sqlite",
              {"import", "nsys", "in/t.sqlite", "-o", "out.fst"},
              "an SQLite export of Nsight Systems"},
        Input{"Snapshot",
              "in/t.pickle",
              {"import", "snapshot", "in/t.pickle", "-o", "out.fst"},
              "a memory snapshot (pickle)",
              true},
        Input{"Replay",
              "in/h.jsonl",
              {"replay", "in/h.jsonl"},
              "a CUDA memory snapshot (pickle), an allocation history"}),
    kInputName);

// A model's name is looked up among the bundled ones where no such file is there.
TEST(InputFilesOfModels, FolderWithoutConfig) {
  const Workplace place;
  std::filesystem::create_directory(place.path("empty"));
  const Outcome outcome =
      place.run({"predict", "--model", "empty", "--plan", "plan.toml", "--ranks", "2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "foreshard: error: empty/config.json: no such file; expected a Llama model's "
            "config.json\n");
}

TEST(InputFolders, OfCheckpoints) {
  const Workplace place;
  place.write("file", "");
  const auto resumed = [&](const std::string& folder) {
    return place.run(job("train", 2, {"--steps", "1", "--resume", folder})).err;
  };
  EXPECT_EQ(resumed("none"), "foreshard: error: none: no such folder; expected a checkpoint\n");
  EXPECT_EQ(resumed("file"), "foreshard: error: file: is not a folder; expected a checkpoint\n");
  EXPECT_EQ(resumed("model"),
            "foreshard: error: model/index.json: no such file; expected a checkpoint\n");
}

TEST(InputPipes, CarryRecordings) {
  const Workplace place;
  ASSERT_EQ(place.run(job("predict", 2, {"--trace", "p.fst"})).status, 0);
  for (const std::string command : {"inspect", "replay", "compare p.fst"}) {
    const std::string program = "\"$FORESHARD\" " + command + " ", answer = " --json /dev/fd/3 ";
    const Outcome file = place.shell(program + "p.fst" + answer + "3>&1 >/dev/null");
    ASSERT_EQ(file.status, 0) << file.err;
    for (const std::string pipe : {"-", "/dev/stdin"}) {
      const Outcome piped =
          place.shell("cat p.fst | " + program + pipe + answer + "3>&1 >/dev/null");
      EXPECT_EQ(piped.out, file.out) << command << piped.err;
    }
  }
  EXPECT_EQ(place.shell("\"$FORESHARD\" inspect - < p.fst").status, 0);
  const Outcome several = place.shell("cat p.fst | \"$FORESHARD\" inspect - p.fst");
  EXPECT_EQ(several.out.find("=== /dev/stdin ==="), 0U) << several.out << several.err;
  const Outcome refused = place.shell("echo Dear diary | \"$FORESHARD\" inspect -");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err.find("foreshard: error: /dev/stdin: is text"), 0U) << refused.err;
}

}  // namespace
}  // namespace foreshard::cli_tests
