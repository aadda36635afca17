// Whole allocation histories of PyTorch, from the set-up to the last step: what unmodified PyTorch asked
// of its allocator, request by request and free by free, is what the program of the plan does.
#include <map>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/models/lowering/recorded_cases.hpp"

namespace foreshard {
namespace {

// "+450240 compute", or "-12": the free of the twelfth allocation.
std::vector<std::string> logged(const RecordedCase& c) {
  std::vector<std::string> events;
  std::map<std::int64_t, int> alive;  // by address: the allocation's number
  int number = 0;
  for (const auto& event : log_lines(c.log())) {
    const std::string action = event.value("action", "");
    if (action == "alloc") {
      alive[event["addr"]] = number++;
      events.push_back("+" + std::to_string(event["size"].get<std::int64_t>()) + " " +
                       event["stream"].get<std::string>());
    } else if (action == "free_requested") {
      events.push_back("-" + std::to_string(alive[event["addr"]]));
    }
  }
  return events;
}

std::vector<std::string> lowered(const RankProgram& program, int steps) {
  std::vector<std::string> events;
  std::map<BufferId, int> alive;
  int number = 0;
  for (int step = 0; step <= steps; ++step) {
    for (const Instruction& i : program.step(step).instructions) {
      if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(i.target)];
      if (buffer.on_host) continue;
      if (i.kind == Kind::free) {
        events.push_back("-" + std::to_string(alive[i.target]));
        continue;
      }
      alive[i.target] = number++;
      events.push_back("+" + std::to_string(buffer.bytes) + " " + program.name(buffer.pool));
    }
  }
  return events;
}

class PyTorchHistories : public testing::TestWithParam<RecordedCase> {};

TEST_P(PyTorchHistories, AreThoseOfThePlansPrograms) {
  const RecordedCase& c = GetParam();
  const auto model = load_llama_config(c.config.string());
  ASSERT_TRUE(model) << model.error().text();
  const auto plan = parse_plan(c.plan(), c.id);
  ASSERT_TRUE(plan) << plan.error().text();
  const auto job = make_job(*model, *plan, c.id, c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  const std::vector<std::string> pytorch = logged(c);
  // One step more: a log may end with what the next step frees first.
  const std::vector<std::string> ours = lowered(lower(*job, c.rank), c.steps + 1);
  ASSERT_GT(pytorch.size(), 100U);
  ASSERT_GT(ours.size(), pytorch.size());
  for (std::size_t i = 0; i < pytorch.size(); ++i) {
    ASSERT_EQ(ours[i], pytorch[i]) << "at event " << i << " of " << pytorch.size();
  }
}

TEST_P(PyTorchHistories, ComeFromProgramsThatObeyTheLaws) {
  const RecordedCase& c = GetParam();
  const auto model = load_llama_config(c.config.string());
  const auto plan = parse_plan(c.plan(), c.id);
  ASSERT_TRUE(model && plan);
  const auto job = make_job(*model, *plan, c.id, c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ(tests::broken_laws(lower(*job, c.rank)), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Recorded, PyTorchHistories, testing::ValuesIn(recorded_cases("")),
                         [](const auto& recorded) { return test_name(recorded.param); });

}  // namespace
}  // namespace foreshard
