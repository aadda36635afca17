// `foreshard profile` from outside: programs on the host's CUDA, whose work is all in the trace.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include <cupti.h>
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::cli_tests {
namespace {

using traces::EventKind;
using traces::Trace;

constexpr const char* kProgram = FORESHARD_PROFILED_PROGRAM;

class ProfileTest : public testing::Test {
 protected:
  Outcome profile(std::vector<std::string> command,
                  std::map<std::string, std::string> environment = {}) const {
    environment["FORESHARD_MODULES"] = FORESHARD_EMULATED_MODULES;
    command.insert(command.begin(), {"profile", "-o", "out.fst", "--"});
    return place_.run(command, environment);
  }
  Trace trace() const {
    auto read = traces::read_fst(place_.path("out.fst").string());
    if (!read) throw std::runtime_error(read.error().text());
    return std::move(*read);
  }

  Workplace place_;
};

std::map<std::string, int> device_work(const Trace& trace, std::int32_t rank = 0) {
  std::map<std::string, int> counts;
  for (const traces::Event& e : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
    if (lane.device && lane.rank == rank) ++counts[trace.strings[e.name]];
  }
  return counts;
}

const std::map<std::string, int> kFiftyRounds{
    {"Memcpy DtoD (Device -> Device)", 100}, {"Memset (Device)", 100}, {"compiled()", 100}};

TEST_F(ProfileTest, RecordsEveryKernelCopyAndCall) {
  const Outcome outcome = profile({kProgram, "50"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Trace all = trace();
  EXPECT_TRUE(all.complete);
  EXPECT_TRUE(all.dropped.empty()) << all.dropped.begin()->first;
  EXPECT_EQ(device_work(all), kFiftyRounds);
  std::map<std::string, int> calls;
  std::map<std::int64_t, traces::Event> by_correlation;
  for (const traces::Event& e : all.events) {
    if (all.lanes[static_cast<std::size_t>(e.lane)].device || e.kind == EventKind::range) continue;
    ++calls[all.strings[e.name]];
    EXPECT_EQ(e.kind, EventKind::runtime);
    by_correlation[e.correlation] = e;
  }
  EXPECT_EQ(calls,
            (std::map<std::string, int>{
                {"cudaLaunchKernelExC", 100}, {"cudaMemcpyAsync", 100}, {"cudaMemsetAsync", 100}}));
  for (const traces::Event& e : all.events) {
    if (!all.lanes[static_cast<std::size_t>(e.lane)].device) continue;
    EXPECT_GE(e.start_ns, by_correlation.at(e.correlation).start_ns);
    const bool is_kernel = all.strings[e.name] == "compiled()";
    EXPECT_EQ(e.kind, is_kernel ? EventKind::compute : EventKind::memory);
    EXPECT_EQ(e.bytes, is_kernel ? 0 : all.strings[e.name].starts_with("Memcpy") ? 1024 : 512);
  }
  EXPECT_EQ(all.metadata.at("command"), std::string(kProgram) + " 50");
  EXPECT_EQ(place_.files(),
            (std::vector<std::string>{"model", "model/config.json", "out.fst", "plan.toml"}));
}

TEST_F(ProfileTest, RecordsMemoryOfTheDevice) {
  const Outcome outcome = profile({kProgram, "1", "memory"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Trace all = trace();
  std::vector<std::int64_t> changes;
  for (const traces::MemoryEvent& e : all.memory) {
    changes.push_back(e.action == traces::MemoryAction::segment_alloc ? e.bytes : -e.bytes);
  }
  EXPECT_EQ(changes, (std::vector<std::int64_t>{3000, 2 << 20, -(2 << 20), -3000}));
}

TEST_F(ProfileTest, PassesTheExitStatusOn) {
  EXPECT_EQ(profile({kProgram, "1", "exit7"}).status, 7);
  EXPECT_TRUE(trace().complete);
  EXPECT_EQ(profile({"no-such-program"}).status, 2);
}

TEST_F(ProfileTest, WhatWasFlushedSurvivesACrashAndAKill) {
  for (const auto& [end, status] : {std::pair("abort", 128 + 6), std::pair("kill", 128 + 9)}) {
    const Outcome outcome = profile({kProgram, "50", end});
    EXPECT_EQ(outcome.status, status) << outcome.err;
    const Trace all = trace();
    EXPECT_FALSE(all.complete);
    EXPECT_GT(all.complete_until_ns, 0);
    EXPECT_EQ(device_work(all), kFiftyRounds) << end;
  }
}

TEST_F(ProfileTest, ProcessesBecomeRanksByTheirVariables) {
  const std::string program(kProgram);
  const Outcome outcome = profile(
      {"sh", "-c", "RANK=1 '" + program + "' 20 & RANK=0 '" + program + "' 50; wait; exit 3"});
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  const Trace all = trace();
  EXPECT_EQ(all.metadata.at("ranks"), "2");
  EXPECT_EQ(device_work(all, 0), kFiftyRounds);
  EXPECT_EQ(device_work(all, 1).at("compiled()"), 40);
}

TEST_F(ProfileTest, SaysWhyNothingWasRecorded) {
  const Outcome none = profile({kProgram});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("used no GPU"), std::string::npos) << none.err;
  const Outcome taken = profile({kProgram, "5"}, {{"FORESHARD_HOST_CUPTI_TAKEN", "1"}});
  EXPECT_EQ(taken.status, 1);
  EXPECT_NE(taken.err.find("another profiler already records"), std::string::npos) << taken.err;
  const Outcome failed = profile({kProgram, "0", "exit7"});
  EXPECT_EQ(failed.status, 7);
}

// A program such as PyTorch's brings a CUPTI of its own, which records it; NVTX, used before CUDA is, must
// find that one, not a second copy.
TEST_F(ProfileTest, RecordsNvtxRangesOfAProgramWithACuptiOfItsOwn) {
  std::filesystem::copy(FORESHARD_HOST_CUPTI, place_.path("own.so"));
  const Outcome outcome = profile({"env", "LD_PRELOAD=./own.so", kProgram, "50"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Trace all = trace();
  EXPECT_EQ(device_work(all), kFiftyRounds);
  EXPECT_EQ(std::ranges::count_if(all.events,
                                  [&](const traces::Event& e) {
                                    return e.kind == EventKind::range &&
                                           all.strings[e.name] == "round";
                                  }),
            50);
}

TEST_F(ProfileTest, LeavesNvtxAloneWhereThisCuptiWouldCrash) {
  const Outcome outcome = profile({kProgram, "50"}, {{"FORESHARD_HOST_CUPTI_VERSION", "130000"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("NVTX ranges are not recorded"), std::string::npos) << outcome.err;
  EXPECT_EQ(device_work(trace()), kFiftyRounds);
}

TEST_F(ProfileTest, TakesThePlaceOfAnotherProfilerAndSaysSo) {
  const Outcome outcome = profile({kProgram, "50"}, {{"CUDA_INJECTION64_PATH", "/opt/other.so"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("names /opt/other.so, which does not see"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(device_work(trace()), kFiftyRounds);
}

TEST_F(ProfileTest, RecordsAProgramThatReplacesItself) {
  const Outcome outcome = profile({kProgram, "50", "again"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Trace all = trace();
  EXPECT_EQ(device_work(all, 0), kFiftyRounds);
  EXPECT_EQ(device_work(all, 1), kFiftyRounds);
}

TEST_F(ProfileTest, WhatCuptiRefusesIsMissingAndSaidToBe) {
  const std::string pools = std::to_string(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  const Outcome outcome = profile({kProgram, "50"}, {{"FORESHARD_HOST_CUPTI_REFUSES", pools}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("memory pools are not recorded: CUPTI"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(device_work(trace()), kFiftyRounds);
  const std::string kernels = std::to_string(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const Outcome none = profile({kProgram, "50"}, {{"FORESHARD_HOST_CUPTI_REFUSES", kernels}});
  EXPECT_EQ(none.status, 1);
}

// PyTorch on the CPU, in a program whose only use of CUDA is to fill memory once a step.
constexpr const char* kScript = R"(
import ctypes, os, sys, torch
cuda = ctypes.CDLL(os.environ["HOST_CUDA"])
torch.cuda.is_initialized = lambda: True
memory, stream = ctypes.create_string_buffer(512), ctypes.c_void_p()
cuda.cudaStreamCreateWithPriority(ctypes.byref(stream), 1, 0)
def fill():
    cuda.cudaMemsetAsync(memory, 0, ctypes.c_size_t(512), stream)
    cuda.cudaStreamSynchronize(stream)
fill()
model, second = torch.nn.Linear(4, 4), torch.nn.Linear(2, 2)
optimizer, other = torch.optim.AdamW(model.parameters()), torch.optim.SGD(second.parameters())
update = optimizer.step
if "compiled" in sys.argv: update = torch.compile(optimizer.step, backend="eager")
for step in range(5):
    if "own" in sys.argv: mark = torch.cuda.nvtx.range_start(f"train_step {step}")
    fill()
    model(torch.ones(2, 4)).sum().backward()
    update()
    other.step()
    optimizer.zero_grad()
    if "own" in sys.argv: torch.cuda.nvtx.range_end(mark)
fill()
if "compiled" in sys.argv: print(torch._dynamo.utils.counters["frames"]["total"], "functions compiled")
)";

class ProfiledPyTorch : public ProfileTest {
 protected:
  void SetUp() override {
    const char* const named = std::getenv("FORESHARD_TORCH_PYTHON");
    if (named == nullptr) GTEST_SKIP() << "needs FORESHARD_TORCH_PYTHON, a Python with PyTorch";
    python_ = named;
    place_.write("train.py", kScript);
  }
  Outcome train(const std::vector<std::string>& arguments, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"profile", "-o", "out.fst"});
    options.insert(options.end(), {"--", python_, "train.py"});
    options.insert(options.end(), arguments.begin(), arguments.end());
    return place_.run(options, {{"FORESHARD_MODULES", FORESHARD_EMULATED_MODULES},
                                {"HOST_CUDA", FORESHARD_HOST_CUDA}});
  }
  // "NUMBER LABEL: FILLS" of each step.
  std::vector<std::string> steps() const {
    const Trace all = trace();
    std::vector<std::string> out;
    for (const traces::Step& step : all.steps) {
      const auto fills = std::ranges::count_if(all.events, [&](const traces::Event& e) {
        return e.step == step.step && all.strings[e.name] == "Memset (Device)";
      });
      out.push_back(std::to_string(step.step) + " " + all.strings[step.label] + ": " +
                    std::to_string(fills));
    }
    return out;
  }

  std::string python_;
};

using Texts = std::vector<std::string>;

TEST_F(ProfiledPyTorch, HasTheStepsOfItsFirstOptimizer) {
  const Outcome outcome = train({});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(steps(), (Texts{"2 foreshard step 2: 1", "3 foreshard step 3: 1",
                            "4 foreshard step 4: 1", "5 foreshard step 5: 1"}));
  EXPECT_TRUE(trace().dropped.empty());
  const Outcome inspected = place_.run({"inspect", "out.fst"});
  EXPECT_NE(inspected.out.find("A steady step takes "), std::string::npos) << inspected.out;
}

TEST_F(ProfiledPyTorch, HasNoMoreCompiledForTheSakeOfMarks) {
  const Outcome without = train({"compiled"}, {"--no-steps"}), with = train({"compiled"});
  EXPECT_EQ(steps().size(), 4u);
  EXPECT_NE(with.out.find("functions compiled"), std::string::npos) << with.err;
  EXPECT_EQ(with.out, without.out);
}

TEST_F(ProfiledPyTorch, HasItsOwnStepsWhereItMarksThem) {
  train({"own"});
  EXPECT_EQ(steps(), (Texts{"1 train_step 0: 1", "2 train_step 1: 1", "3 train_step 2: 1",
                            "4 train_step 3: 1", "5 train_step 4: 1"}));
}

TEST_F(ProfiledPyTorch, HasNoStepsWhereNoneAreAskedFor) {
  train({}, {"--no-steps"});
  EXPECT_EQ(steps(), Texts());
}

TEST_F(ProfileTest, CountsWhatFoundNoRoom) {
  profile({kProgram, "50"}, {{"FORESHARD_HOST_CUPTI_DROPS", "10"}});
  const Trace all = trace();
  EXPECT_EQ(all.dropped.at("records that found no room in CUPTI's buffers"), 30);
  std::int64_t lost = 0;
  for (const traces::DroppedRange& range : all.dropped_ranges) lost += range.records;
  EXPECT_EQ(lost, 30);
}

}  // namespace
}  // namespace foreshard::cli_tests
