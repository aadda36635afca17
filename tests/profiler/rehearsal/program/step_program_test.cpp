// A step that the hooks captured (captured/), as a program: what is in it is what PyTorch and the device
// counted by themselves.
#include "profiler/rehearsal/program/step_program.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "models/program/check_program.hpp"
#include "profiler/rehearsal/program/captured_step.hpp"
#include "simulator/host/pytorch_host.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/simulator/predict/h100.hpp"

namespace foreshard::profiler {
namespace {

const RehearsedProgram& rehearsed() {
  static const RehearsedProgram program =
      step_program(read_captured_step(std::string(FORESHARD_SOURCE_DIR) +
                                      "/tests/profiler/rehearsal/program/captured")
                       .value());
  return program;
}

simulator::Prediction predicted() {
  simulator::PredictionOptions options;
  options.machine = &simulator::h100();
  options.device_memory = std::int64_t{1} << 40;
  options.wants_explanation = true;
  return simulator::predict(simulator::program_set({{rehearsed().program}, std::vector<int>(4, 0)}),
                            options);
}

template <typename Matches>
std::int64_t count(const Matches& matches) {
  const auto& all = rehearsed().program.step(1).instructions;
  return std::count_if(all.begin(), all.end(), matches);
}

const CostKey& key_of(const Instruction& i) {
  return rehearsed().program.cost_keys[static_cast<std::size_t>(i.cost_key)];
}

TEST(RehearsedProgram, HasWhatTheDeviceCounted) {
  EXPECT_TRUE(check_program(rehearsed().program, "captured", "program"));
  const auto is_product = [](const Instruction& i) {
    return i.kind == Kind::launch && is_matmul(key_of(i).op);
  };
  EXPECT_EQ(count(is_product), 5);
  // Fills are no kernels of the device's count.
  EXPECT_EQ(count([&](const Instruction& i) {
              return i.kind == Kind::launch && !is_product(i) &&
                     key_of(i).op != Operator::fill_zero;
            }),
            30);
  EXPECT_EQ(count([](const Instruction& i) { return i.kind == Kind::copy; }), 8);
  std::map<Operator, std::int64_t> collectives, bytes;
  for (const Instruction& i : rehearsed().program.step(1).instructions) {
    if (i.kind != Kind::collective) continue;
    ++collectives[key_of(i).op];
    bytes[key_of(i).op] += key_of(i).dims[0] / 4;  // of one rank
    EXPECT_EQ(key_of(i).dims[1], 4);
  }
  EXPECT_EQ(collectives, (std::map<Operator, std::int64_t>{{Operator::all_gather, 3},
                                                           {Operator::reduce_scatter, 2}}));
  EXPECT_EQ(bytes, (std::map<Operator, std::int64_t>{{Operator::all_gather, 197'120},
                                                     {Operator::reduce_scatter, 262'912}}));
}

TEST(RehearsedProgram, ReachesThePeaksOfPyTorch) {
  const simulator::Prediction prediction = predicted();
  ASSERT_FALSE(prediction.steps_memory.empty());
  for (const simulator::StepPeaks& step : prediction.steps_memory) {
    EXPECT_EQ(step.peaks.allocated, 70'458'368) << "step " << step.step;
    EXPECT_EQ(step.peaks.reserved, 75'497'472) << "step " << step.step;
  }
}

TEST(RehearsedProgram, SaysWhatHoldsMemoryAtThePeak) {
  const simulator::Prediction prediction = predicted();
  ASSERT_TRUE(prediction.explanation);
  std::int64_t held = 0;
  for (const simulator::HeldMemory& row : prediction.explanation->held) held += row.bytes;
  EXPECT_EQ(held, 70'458'368);
}

TEST(RehearsedProgram, IsPriced) {
  const simulator::Prediction prediction = predicted();
  EXPECT_EQ(prediction.cost_sources.unknown, 0);
  EXPECT_GT(prediction.step_time.count(), 0);
  EXPECT_LE(prediction.step_time_low, prediction.step_time);
  EXPECT_GE(prediction.step_time_high, prediction.step_time);
}

// In forward by the module that ran, in backward by the one whose operator is differentiated.
TEST(RehearsedProgram, NamesModules) {
  std::map<std::pair<Phase, std::string>, int> products;
  for (const Instruction& i : rehearsed().program.step(1).instructions) {
    if (i.kind != Kind::launch || !is_matmul(key_of(i).op)) continue;
    ASSERT_NE(i.module, kNone);
    ++products[{i.phase, rehearsed().program.name(i.module)}];
  }
  EXPECT_EQ(products, (std::map<std::pair<Phase, std::string>, int>{{{Phase::forward, "0"}, 1},
                                                                    {{Phase::forward, "2"}, 1},
                                                                    {{Phase::backward, "0"}, 1},
                                                                    {{Phase::backward, "2"}, 2}}));
}

TEST(RehearsedProgram, KernelsOfOneOperatorShareItsCost) {
  std::map<OperatorId, std::int64_t> launches;
  for (const Instruction& i : rehearsed().program.step(1).instructions) {
    if (i.kind == Kind::launch) ++launches[i.op];
  }
  for (const auto& [op, number] : launches) {
    const OperatorInfo& info = rehearsed().program.operators.at(static_cast<std::size_t>(op));
    EXPECT_EQ(number % info.launches, 0) << info.name;
  }
}

// Without FSDP no range says so.
TEST(RehearsedProgram, WhatAModuleRunsIsForward) {
  CapturedStep step;
  std::istringstream lines(
      "1 2 1 7 PRODUCT (nil) 8 8 8 1\n2 2 2 9 LAUNCH (nil) 1x1x1 2x1x1 0 _Z1kv\n"
      "3 2 3 7 PRODUCT (nil) 8 8 8 1\n4 2 4 8 LAUNCH (nil) 1x1x1 2x1x1 0 _Z1kv\n");
  step.log = parse_device_log(lines);
  step.operators[7] = {"aten::mm", "layer", false, {}};
  step.operators[8] = {"aten::mean", "", false, {}};
  step.operators[9] = {"aten::relu", "", false, {}, true};  // the model itself, between its modules
  const RankProgram program = step_program(step).program;
  std::vector<Phase> phases;
  for (const Instruction& i : program.step(1).instructions) {
    if (i.kind == Kind::launch) phases.push_back(i.phase);
  }
  EXPECT_EQ(phases, (std::vector{Phase::forward, Phase::forward, Phase::forward, Phase::loss}));
}

// The collectives of rank 5, the second of ranks 1, 5, 9 and 13.
std::vector<std::string> collectives_of(const std::string& log,
                                        const std::string& by = "c10d::send") {
  CapturedStep step;
  std::istringstream lines(log);
  step.log = parse_device_log(lines);
  step.groups[0xff] = {"pp", {1, 5, 9, 13}};
  step.operators[7].name = by;
  const RehearsedProgram made = step_program(step);
  EXPECT_TRUE(check_program(made.program, "made", "program"));
  std::vector<std::string> found;
  for (const Instruction& i : made.program.step(1).instructions) {
    if (i.kind != Kind::collective) continue;
    const GroupInfo& group = made.program.groups[static_cast<std::size_t>(i.group)];
    const CostKey& key = made.program.cost_keys[static_cast<std::size_t>(i.cost_key)];
    found.push_back(std::string(made.program.operator_name(i)) + ": " + foreshard::text(key) +
                    " on " + made.program.name(i.stream) + " in " + group.name + " from " +
                    std::to_string(group.first));
  }
  return found;
}

TEST(RehearsedProgram, SendsAndReceivesOfOneGroupAreTransfersWithEachPeer) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(collectives_of("1 2 1 7 COLLECTIVE (nil) send 4 512 0xff 1 2 3\n"
                           "2 2 2 7 COLLECTIVE (nil) recv 4 768 0xff 1 2 3\n"
                           "3 2 3 7 COLLECTIVE (nil) send 4 256 0xff 1 0 0\n"),
            (Lines{"transfer: transfer fp32 768 2 on compute in pairs 4 apart from 5",
                   "transfer: transfer fp32 256 2 on compute in pairs 4 apart from 0"}));
  // With two others beside each other.
  EXPECT_EQ(collectives_of("1 2 1 7 COLLECTIVE (nil) send 4 512 0xff 1 2 3\n"
                           "2 2 2 7 COLLECTIVE (nil) recv 4 768 0xff 1 0 3\n"),
            (Lines{"transfer: transfer fp32 768 2 on compute in pairs 4 apart from 0",
                   "transfer: transfer fp32 512 2 on transfer in pairs 4 apart from 5"}));
}

TEST(RehearsedProgram, ExchangesAreOfTheWholeGroup) {
  std::string log;
  for (int peer = 0; peer < 4; ++peer) {
    for (const char* const what : {"send", "recv"}) {
      log += "1 2 1 7 COLLECTIVE (nil) " + std::string(what) + " 4 512 0xff 1 " +
             std::to_string(peer) + " 3\n";
    }
  }
  using Lines = std::vector<std::string>;
  EXPECT_EQ(collectives_of(log, "c10d::alltoall_base_"),
            Lines{"all_to_all: all_to_all fp32 2048 4 on compute in pp from 0"});
  EXPECT_EQ(collectives_of(log, "c10d::gather_"),
            Lines{"gather: broadcast fp32 2048 4 on compute in pp from 0"});
}

TEST(RehearsedProgram, AGraphIsLaunchedWhereItsStreamIsAndByOneCall) {
  CapturedStep step;
  std::istringstream captured(
      "1 2 1 7 LAUNCH 0x10 1x1x1 2x1x1 0 _Z1av\n1 2 0 0 CAPTURE 0x10 5\n"
      "1 2 2 7 PRODUCT 0x10 8 8 8 1\n1 2 0 0 RECORD 0x10 0xe\n1 2 0 0 AWAIT 0x20 0xe\n"
      "1 2 3 8 PRODUCT 0x20 8 8 16 1\n1 2 0 0 WAIT device (nil)\n1 2 0 0 GRAPH 0x10 5\n"
      "1 2 0 0 CAPTURED 5\n1 2 4 7 LAUNCH 0x10 1x1x1 2x1x1 0 _Z1bv\n");
  step.graphs = parse_device_log(captured).graphs;
  std::istringstream lines(
      "1 2 5 9 PRODUCT 0x30 8 8 8 1\n1 2 6 0 GRAPH 0x30 5\n1 2 7 0 GRAPH (nil) 5\n");
  step.log = parse_device_log(lines);
  step.operators[7] = step.operators[8] = step.operators[9] = {"aten::mm", "layer", false, {}};
  const RankProgram program = step_program(step).program;
  EXPECT_TRUE(check_program(program, "made", "program"));
  const auto& all = program.step(1).instructions;
  const simulator::IssueTimes times = simulator::pytorch_issue_times(program, {}).at(1);
  std::vector<std::string> on;
  std::int64_t without_time = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].kind != Kind::launch) continue;
    on.push_back(program.name(all[n].stream));
    without_time += times[n] == 0;
  }
  EXPECT_EQ(on, (std::vector<std::string>{"matmul", "matmul", "matmul 2", "compute", "matmul 2"}));
  EXPECT_EQ(without_time, 4);
  EXPECT_EQ(std::ranges::count(all, Kind::wait_event, &Instruction::kind), 2);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].kind != Kind::range_begin) continue;
    EXPECT_EQ(program.name(all[n].target), "cudaGraphLaunch");
    EXPECT_GT(times[n], 0);
  }
}

// Encoder and decoder number their layers alike: one computed again as a whole is no other one in part.
TEST(RehearsedProgram, LayersOfOneNumberAreCheckpointedEachByItself) {
  const auto time_again = [](const std::string& others) {
    CapturedStep step;
    std::istringstream lines(others +
                             "1 2 1 7 PRODUCT (nil) 8 8 8 1\n2 2 2 8 PRODUCT (nil) 8 8 8 1\n"
                             "3 2 3 9 PRODUCT (nil) 8 8 8 1\n");
    step.log = parse_device_log(lines);
    step.operators[6] = {"aten::addmm", "encoder.layers.0.q", false, {}};
    step.operators[7] = {"aten::mm", "decoder.layers.0.q", false, {}};
    step.operators[8] = {"aten::mm", "decoder.layers.0.q", false, {}};
    step.operators[9] = {"aten::mm", "decoder.layers.0.q", true, {}};
    const RankProgram program = step_program(step).program;
    const simulator::IssueTimes times = simulator::pytorch_issue_times(program, {}).at(1);
    const auto& all = program.step(1).instructions;
    const auto again = std::ranges::find(all, Phase::recompute, &Instruction::phase);
    return times[static_cast<std::size_t>(again - all.begin())];
  };
  EXPECT_EQ(time_again("1 2 5 6 LAUNCH (nil) 1x1x1 2x1x1 0 _Z1kv\n"), time_again(""));
}

// A graph may have been captured under the script's own profiler, and NCCL may learn new collectives: a step without their time would be too short.
TEST(RehearsedProgram, WhatIsNotKnownHasNoPrice) {
  for (const auto& [line, name] : std::map<std::string, std::string>{
           {"1 2 0 0 GRAPH (nil) 5\n", "CUDA graph"},
           {"1 2 1 0 COLLECTIVE (nil) shuffle 4 512 0xff 1 -1 0\n", "shuffle"}}) {
    CapturedStep step;
    std::istringstream lines(line);
    step.log = parse_device_log(lines);
    const RankProgram program = step_program(step).program;
    const auto& all = program.step(1).instructions;
    const auto launch = std::ranges::find(all, Kind::launch, &Instruction::kind);
    ASSERT_NE(launch, all.end());
    EXPECT_EQ(program.operator_name(*launch), name);
    EXPECT_EQ(program.cost_keys[static_cast<std::size_t>(launch->cost_key)].op, Operator::opaque);
  }
}

TEST(DeviceLog, PassesOverWhatItDoesNotKnow) {
  std::istringstream text(
      "1 2 7 9 LAUNCH (nil) 1x1x1 2x1x1 0 _Z1kv\nnonsense\n\n1 2 0 0 STREAM 0x1010 -2\n"
      "1 2 8 0 WAIT stream 0x1010\n1 2 9 0 COLLECTIVE 0x1010 all_gather 4 512 0xff\n1 2 3 4 FUTURE "
      "x\n1 2 9 0 COLLECTIVE 0x1010 all_gather 4 9000000000000000000 0xff 0 -1 0\n"
      "1 2 9 0 COLLECTIVE 0x1010 all_gather 2000000000 512 0xff 0 -1 0\n");
  const DeviceLog log = parse_device_log(text);
  ASSERT_EQ(log.calls.size(), 3u);
  EXPECT_EQ(log.calls[0].what, "_Z1kv");
  EXPECT_EQ(log.calls[0].external, 9);
  EXPECT_EQ(log.calls[1].kind, DeviceCall::Kind::wait_stream);
  EXPECT_EQ(log.calls[1].stream, 0x1010u);
  EXPECT_EQ(log.calls[2].ranks, 4);
  EXPECT_EQ(log.calls[2].communicator, 0xffu);
  EXPECT_EQ(log.priorities.at(0x1010), -2);
}

TEST(CapturedOperators, DamagedFilesAreNamed) {
  for (
      const char* text :
      {"", "{", "[]", R"({"operators": {"1": [7]}})",
       R"({"operators": {"x": ["a", null, false, []]}, "groups": [], "tensors": {}})",
       R"({"operators": {"1": ["a", null, false, [[1e21, 1, "int8", []]]]}})",
       R"({"operators": {"1": ["a", null, false, [[1, 9e18, "int8", []]]]}})",
       R"({"operators": {"1": ["a", null, false, [[1, 9000000000000000000, "int8", []]]]}})",
       R"({"operators": {}, "groups": [{"communicator": 1, "name": "g", "ranks": [1e10]}]})",
       R"({"operators": {}, "groups": [{"communicator": 1, "name": "g", "ranks": [0, 2147483647]}]})",
       R"({"operators": {}, "groups": [{"communicator": 1, "name": "g", "ranks": [-1]}]})",
       R"({"operators": {}, "groups": [], "tensors": {"parameters": [9.38704e+20]}})"}) {
    CapturedStep step;
    const auto read = parse_operators(text, "operators.json", step);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find("operators.json: is damaged; expected"), std::string::npos);
  }
}

}  // namespace
}  // namespace foreshard::profiler
