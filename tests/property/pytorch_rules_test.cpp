// What FSDP2 with PyTorch's operators asks its allocator for, on random models and plans: the requests
// and frees of steps 1 to 3 are, in order, those of a script that was written from PyTorch's recorded
// histories and shares no code with the lowering.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/allocator_requests.hpp"
#include "tests/models/lowering/pytorch_case.hpp"
#include "tests/outside_data.hpp"
#include "tests/property/random_pytorch_case.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

using nlohmann::json;
using tests::Requests;

constexpr int kBatch = 50;  // cases that one process of the script is given

Requests predicted(const json& words) {
  const tests::PyTorchCase c = tests::pytorch_case(words, words["config"]);
  const auto job = make_job(c.model, c.plan, "random", c.ranks);
  if (!job) return {job.error().text()};
  return tests::requests(lower(*job, c.rank), 1, c.steps);
}

// Of repeated keys whose 16-bit gradients are kept in fp32 the script has a norm's gradient widened on the wrong
// side of two frees: a recording (repeat_last_fp32_w2) has it where the program does.
bool widens_too_late(const json& words) {
  return words["gqa"] == "repeat" && words["accum_sync"] == "last" &&
         words["precision"] == "pure_bf16_fp32";
}

// Of a head that is a unit and returns what the root returns, recordings have the head's parameters gathered
// before the root's in backward, and the script after them.
bool gathers_head_first(const json& words) {
  const std::string wrap = words["wrap"];
  const bool root_is_sharded = words["reshard"].is_number() || words["reshard"] == "true";
  if (!wrap.starts_with("size:") || words["impl"] == "hf" || !root_is_sharded) return false;
  const json& m = words["config"];
  const std::int64_t head =
      m["vocab_size"].get<std::int64_t>() * m["hidden_size"].get<std::int64_t>();
  return head >= std::stoll(wrap.substr(5));
}

// By case; a single line "! REASON" for one that the script does not describe.
std::vector<Requests> described(const std::string& script, const std::vector<json>& cases) {
  const tests::TemporaryFolder folder;
  std::string input;
  for (const json& words : cases) input += words.dump() + "\n";
  const std::string driver = FORESHARD_SOURCE_DIR "/tests/property/pytorch_events.py";
  const std::string command =
      "python3 '" + driver + "' '" + script + "' < '" + folder.write("cases", input) + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<Requests> found;
  char line[256];
  while (pipe && std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    std::string text = line;
    if (text.ends_with('\n')) text.pop_back();
    if (text == "case") {
      found.emplace_back();
    } else {
      found.back().push_back(text);
    }
  }
  return found;
}

TEST(PyTorchRules, RandomPlansAskForTheSameMemory) {
  const auto script = tests::outside_data("reference/pytorch/memory/operator_rules.py");
  if (!std::filesystem::exists(script)) GTEST_SKIP() << tests::missing(script);
  if (std::system("command -v python3 > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "needs python3 to run it";
  tests::JobDrawer drawer(20261122);
  int compared = 0;
  for (int left = tests::draws(60); left > 0; left -= kBatch) {
    std::vector<json> cases;
    for (int n = 0; n < std::min(left, kBatch); ++n) {
      cases.push_back(tests::random_pytorch_case(drawer));
    }
    const std::vector<Requests> theirs = described(script.string(), cases);
    ASSERT_EQ(theirs.size(), cases.size()) << "the script ended early";
    for (std::size_t n = 0; n < cases.size(); ++n) {
      if (theirs[n].front().starts_with('!')) continue;
      if (widens_too_late(cases[n]) || gathers_head_first(cases[n])) continue;
      ++compared;
      const std::string difference = tests::difference(predicted(cases[n]), theirs[n]);
      EXPECT_TRUE(difference.empty()) << difference << cases[n].dump();
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace foreshard
