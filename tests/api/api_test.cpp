// The installed interface against the program: the same questions, the same answers.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <foreshard/allocator.hpp>
#include <foreshard/predict.hpp>
#include <foreshard/traces.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program_runner.hpp"

namespace foreshard::api {
namespace {

using cli_tests::Workplace;
using nlohmann::json;

const std::string kSamples = std::string(FORESHARD_SOURCE_DIR) + "/traces/samples/";

// Without the time that this answer took.
json timeless(json answer) {
  answer.erase("prediction_ns");
  return answer;
}

Question question(const std::string& model, int ranks, const std::string& machine) {
  Question question;
  question.model = model;
  question.ranks = ranks;
  question.machine = machine;
  return question;
}

TEST(PredictInterface, AnswersAsTheProgramDoes) {
  const Workplace folder;
  folder.write("plan.toml", "[batch]\nmicro_batch = 2\n");
  Question fits = question("llama-3.1-8b", 16, "h100-sxm");
  fits.plan_text = "[batch]\nmicro_batch = 2\n";
  fits.nodes = 4;
  Question fails = question("llama-3.1-70b", 8, "h100-sxm");
  fails.device_memory = std::int64_t{40} << 30;
  Question own = question("llama-3.2-1b", 2, "");
  own.steps = 3;
  const std::vector<std::pair<Question, std::vector<std::string>>> cases{
      {fits,
       {"--model", "llama-3.1-8b", "--ranks", "16", "--nodes", "4", "--machine", "h100-sxm",
        "--plan", "plan.toml"}},
      {fails,
       {"--model", "llama-3.1-70b", "--ranks", "8", "--machine", "h100-sxm", "--device-memory",
        "40GiB"}},
      {own, {"--model", "llama-3.2-1b", "--ranks", "2", "--steps", "3"}}};
  for (const auto& [question, options] : cases) {
    std::vector<std::string> command{"predict"};
    command.insert(command.end(), options.begin(), options.end());
    const json expected = folder.run_json(command);
    const auto answer = predict(question);
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(timeless(json::parse(answer->json)), timeless(expected));
    EXPECT_EQ(answer->text, folder.run(command).out);
    EXPECT_EQ(answer->fits, expected.at("fits"));
    EXPECT_EQ(answer->step_time_ns.has_value(), !expected.at("step_time_ns").is_null());
    ASSERT_EQ(answer->ranks.size(), expected.at("ranks_memory").size());
    EXPECT_EQ(answer->ranks.back().allocated_bytes,
              expected.at("ranks_memory").back().at("peak_allocated_bytes"));
  }
}

TEST(PredictInterface, ErrorsNameTheMember) {
  std::vector<std::pair<Question, std::string>> cases;
  const auto add = [&cases](const std::string& error, auto change) {
    cases.emplace_back(question("llama-3.1-8b", 8, "h100-sxm"), error);
    change(cases.back().first);
  };
  add("model: is missing; expected a model", [](Question& q) { q.model.clear(); });
  add("ranks: is 0; expected 1 to 1000000", [](Question& q) { q.ranks = 0; });
  add("nodes: is -1; expected 1 to 1000000", [](Question& q) { q.nodes = -1; });
  add("nodes: ", [](Question& q) { q.nodes = 3; });
  add("steps: is 0; expected 1 to 100000", [](Question& q) { q.steps = 0; });
  add("device_memory: is 0; expected a number of bytes above 0",
      [](Question& q) { q.device_memory = 0; });
  add("device: is 'gpu'; expected 'cpu' or 'cuda'", [](Question& q) { q.device = "gpu"; });
  add("operators: is 'eager'; expected 'foreshard', 'pytorch-eager' or 'pytorch-compile'",
      [](Question& q) { q.operators = "eager"; });
  add("machine: is missing; expected a machine with GPUs", [](Question& q) {
    q.machine.clear();
    q.operators = "foreshard";
    q.device = "cuda";
  });
  add("plan_text", [](Question& q) { q.plan_text = "[batch]\nmicro_batch = 0\n"; });
  add("no/such/plan", [](Question& q) { q.plan = "no/such/plan"; });
  for (const auto& [wrong, error] : cases) {
    const auto answer = predict(wrong);
    ASSERT_FALSE(answer) << error;
    EXPECT_TRUE(answer.error().text().starts_with(error)) << answer.error().text();
  }
}

TEST(TracesInterface, HasTheEventsThatSqlCounts) {
  const auto trace = Trace::open(kSamples + "run.fst.gz");
  ASSERT_TRUE(trace) << trace.error().text();
  const auto number = [&](const std::string& sql) {
    const auto table = trace->query(sql);
    EXPECT_TRUE(table) << table.error().text();
    return std::get<std::int64_t>(table->rows.at(0).at(0));
  };
  EXPECT_TRUE(trace->is_complete());
  std::int64_t events = 0, busy = 0, requested = 0, memory = 0;
  trace->for_each_event([&](const Event& event) {
    ++events;
    if (event.on_device && event.rank == 1 && event.kind == "compute" && event.step == 2) {
      busy += event.end_ns - event.start_ns;
    }
  });
  trace->for_each_memory_event([&](const MemoryEvent& event) {
    ++memory;
    if (event.action == "alloc") requested += event.requested_bytes;
  });
  EXPECT_EQ(events, number("SELECT count(*) FROM EVENTS"));
  EXPECT_EQ(events, static_cast<std::int64_t>(trace->events()));
  EXPECT_GT(busy, 0);
  EXPECT_EQ(busy, number("SELECT sum(duration) FROM EVENTS WHERE device AND rank = 1 AND "
                         "kind = 'compute' AND step = 2"));
  EXPECT_EQ(memory, static_cast<std::int64_t>(trace->memory_events()));
  EXPECT_GT(requested, 0);
  EXPECT_EQ(requested, number("SELECT sum(requested) FROM MEMORY_EVENTS WHERE action = 'alloc'"));
  ASSERT_FALSE(trace->steps().empty());
  EXPECT_GT(trace->steps().back().loss, 0);
  EXPECT_EQ(trace->metadata().at("ranks"), "2");
}

TEST(TracesInterface, ErrorsNameTheFileOrTheQuery) {
  EXPECT_EQ(Trace::open("no/such/file.fst").error().file, "no/such/file.fst");
  const auto trace = Trace::open(kSamples + "run.fst.gz");
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->query("DELETE FROM EVENT_RECORDS"));
  EXPECT_NE(trace->query("overlp").error().text().find("overlp"), std::string::npos);
}

TEST(AllocatorInterface, ServesRequestsAsPyTorchDoes) {
  auto allocator = CachingAllocator::create({"", std::int64_t{64} << 20});
  ASSERT_TRUE(allocator) << allocator.error().text();
  const auto small = allocator->allocate(100);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->bytes, 512);
  EXPECT_EQ(allocator->statistics().reserved_bytes, 2 << 20);
  const auto large = allocator->allocate(30 << 20, 1);
  ASSERT_TRUE(large);
  EXPECT_FALSE(allocator->allocate(40 << 20)) << "62 MiB are left, 30 in use";
  EXPECT_EQ(allocator->statistics().out_of_memory, 1);
  ASSERT_EQ(allocator->segments().size(), 2u);
  EXPECT_EQ(allocator->segments().front().used.size(), 1u);
  allocator->free(*large);
  EXPECT_TRUE(allocator->allocate(40 << 20)) << "what stream 1 cached is given back first";
  EXPECT_EQ(allocator->statistics().retries, 2);
  allocator->free(*small);
  allocator->empty_cache();
  EXPECT_EQ(allocator->statistics().reserved_bytes, 40 << 20);
  EXPECT_EQ(allocator->statistics().peak_allocated_bytes, (40 << 20) + 512);
  allocator->reset_peaks();
  EXPECT_EQ(allocator->statistics().peak_allocated_bytes, 40 << 20);
}

TEST(AllocatorInterface, ErrorsNameTheSetting) {
  EXPECT_EQ(CachingAllocator::create({"expandable=true", {}}).error().field, "settings");
  EXPECT_EQ(CachingAllocator::create({"", -1}).error().field, "device_memory");
}

}  // namespace
}  // namespace foreshard::api
