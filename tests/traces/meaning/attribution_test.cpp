// What ranges say of steps, phases and units, and who gets it from them.
#include "traces/meaning/attribution.hpp"

#include <string>

#include <gtest/gtest.h>

#include "traces/meaning/annotations.hpp"

namespace foreshard::traces {
namespace {

struct Case {
  std::string name, phase, unit;
  int step = -1;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

class RangeMeanings : public testing::TestWithParam<Case> {};

TEST_P(RangeMeanings, AreUnderstood) {
  const Annotation meaning = annotation_of(GetParam().name);
  EXPECT_EQ(meaning.phase, GetParam().phase);
  EXPECT_EQ(meaning.unit, GetParam().unit);
  EXPECT_EQ(meaning.step.value_or(-1), GetParam().step);
}

INSTANTIATE_TEST_SUITE_P(
    Names, RangeMeanings,
    testing::Values(Case{"FSDP::pre_forward (layers.0)", "forward", "layers.0"},
                    Case{"FSDP::all_gather", "", "root"},
                    Case{"FSDP::backward_prefetch for layers.1", "backward", "layers.1"},
                    Case{"FullyShardedDataParallel.forward", "forward", ""},
                    Case{"ProfilerStep#12", "", "", 12}, Case{"step 3", "", "", 3},
                    Case{"foreshard step 3", "", "", 3}, Case{"iteration_7", "", "", 7},
                    Case{"step 99999999999", "", ""}, Case{"forward", "forward", ""},
                    Case{"## Backward ##", "backward", ""}, Case{"forward pass", "forward", ""},
                    Case{"optimizer.step", "optimizer", ""},
                    Case{"Optimizer.step#AdamW.step", "optimizer", ""},
                    Case{"MmBackward0", "backward", ""}, Case{"Backward", "backward", ""},
                    Case{"model.layers.3.mlp", "", "model.layers.3.mlp"},
                    Case{"layers.0", "", "layers.0"}, Case{"aten::mm", "", ""}, Case{"1.5", "", ""},
                    Case{"a..0", "", ""}, Case{"moving forward", "", ""}, Case{"", "", ""}));

class PhasesOfEvents : public testing::Test {
 protected:
  void SetUp() override {
    trace_.lanes = {{0, false, text("main")}, {0, false, text("autograd")}, {0, true, text("7")}};
  }
  StringId text(const std::string& t) { return trace_.strings.intern(t); }
  void add(std::int32_t lane, EventKind kind, const std::string& name, std::int64_t start,
           std::int64_t end, std::int64_t correlation = 0) {
    Event e;
    e.lane = lane;
    e.kind = kind;
    e.name = text(name);
    e.start_ns = start;
    e.end_ns = end;
    e.correlation = correlation;
    trace_.events.push_back(e);
  }
  // "step/phase/unit" of an event by its name.
  std::string of(const std::string& name) {
    sort(trace_);
    attribute(trace_);
    for (const Event& e : trace_.events) {
      if (trace_.strings[e.name] != name) continue;
      return std::to_string(e.step) + "/" + trace_.strings[e.phase] + "/" + trace_.strings[e.unit];
    }
    return "absent";
  }
  Trace trace_;
};

TEST_F(PhasesOfEvents, AUnitLastsFromHookToHook) {
  add(0, EventKind::range, "ProfilerStep#2", 0, 1000);
  add(0, EventKind::range, "FSDP::pre_forward (layers.0)", 10, 20);
  add(0, EventKind::range, "FSDP::all_gather (layers.0)", 12, 14);
  add(0, EventKind::runtime, "launch", 30, 31, 5);
  add(0, EventKind::range, "FSDP::post_forward (layers.0)", 40, 50);
  add(0, EventKind::runtime, "after", 60, 61);
  add(2, EventKind::compute, "kernel", 2000, 2100, 5);
  EXPECT_EQ(of("kernel"), "2/forward/layers.0");
  EXPECT_EQ(of("FSDP::all_gather (layers.0)"), "2/forward/layers.0");
  EXPECT_EQ(of("after"), "2//");
  EXPECT_EQ(of("kernel"), "2/forward/layers.0");
  ASSERT_FALSE(trace_.steps.empty());
  EXPECT_EQ(trace_.steps[0].end_ns, 1000);
}

TEST_F(PhasesOfEvents, StepsCountOnWhereNamesRepeat) {
  for (const std::int64_t epoch : {0, 1000}) {
    add(0, EventKind::range, "step 0", epoch, epoch + 100);
    add(0, EventKind::range, "step 1", epoch + 100, epoch + 200);
  }
  add(0, EventKind::runtime, "launch", 1150, 1160);
  EXPECT_EQ(of("launch"), "4//");
  ASSERT_EQ(trace_.steps.size(), 4U);
  EXPECT_EQ(trace_.steps[3].start_ns, 1100);
  EXPECT_EQ(trace_.strings[trace_.steps[3].label], "step 1");
}

TEST_F(PhasesOfEvents, AStepThatBeginsWithinARangeIsNoPartOfIt) {
  add(0, EventKind::range, "optimizer", 0, 100);
  add(0, EventKind::range, "foreshard step 2", 90, 1000);
  add(0, EventKind::runtime, "still", 95, 99);
  add(0, EventKind::runtime, "launch", 150, 160);
  EXPECT_EQ(of("still"), "2/optimizer/");
  EXPECT_EQ(of("launch"), "2//");
}

TEST_F(PhasesOfEvents, OtherThreadsAreInThePhaseOfTheirRank) {
  add(0, EventKind::range, "step 4", 0, 1000);
  add(0, EventKind::range, "forward", 0, 100);
  add(0, EventKind::range, "backward", 100, 300);
  add(1, EventKind::runtime, "launch", 150, 160, 9);
  add(1, EventKind::runtime, "later", 2000, 2001);
  add(2, EventKind::compute, "kernel", 500, 600, 9);
  add(2, EventKind::compute, "nobody's", 700, 800, 77);
  EXPECT_EQ(of("kernel"), "4/backward/");
  EXPECT_EQ(of("later"), "0//");
  EXPECT_EQ(of("nobody's"), "4//");
}

TEST_F(PhasesOfEvents, RanksOfOneTraceShareNothing) {
  trace_.lanes.push_back({1, false, text("other")});
  trace_.lanes.push_back({1, true, text("7")});
  add(0, EventKind::range, "step 4", 0, 1000);
  add(0, EventKind::range, "forward", 0, 1000);
  add(0, EventKind::runtime, "launch", 10, 20, 5);
  add(3, EventKind::runtime, "launch of 1", 10, 20, 5);
  add(3, EventKind::range, "step 9", 5, 1000);
  add(3, EventKind::range, "backward", 5, 1000);
  add(4, EventKind::compute, "kernel of 1", 30, 40, 5);
  EXPECT_EQ(of("kernel of 1"), "9/backward/");
  EXPECT_EQ(of("launch"), "4/forward/");
  ASSERT_EQ(trace_.steps.size(), 2U);
  EXPECT_EQ(trace_.steps[1].rank, 1);
}

TEST_F(PhasesOfEvents, AKernelOfACollectiveOperatorCommunicates) {
  add(0, EventKind::range, "c10d::allreduce_", 0, 100);
  add(0, EventKind::runtime, "cudaLaunchKernel", 10, 20, 5);
  add(0, EventKind::runtime, "cudaLaunchKernel", 110, 120, 6);
  add(2, EventKind::compute, "own_kernel", 30, 40, 5);
  add(2, EventKind::compute, "gemm", 130, 140, 6);
  sort(trace_);
  attribute(trace_);
  ASSERT_EQ(trace_.events.size(), 5U);
  EXPECT_EQ(trace_.strings[trace_.events[3].name], "own_kernel");
  EXPECT_EQ(trace_.events[3].kind, EventKind::communication);
  EXPECT_EQ(trace_.events[4].kind, EventKind::compute);
}

TEST_F(PhasesOfEvents, ARangeOfAnotherThreadHasOnlyWhatItsNameSays) {
  add(0, EventKind::range, "forward", 0, 100);
  add(1, EventKind::range, "gloo:all_gather", 10, 20);
  EXPECT_EQ(of("gloo:all_gather"), "0//");
}

// Each block of the model has a call of its module, "layer" twice with a product within.
TEST_F(PhasesOfEvents, BlocksOfTheModelAreUnitsWhereNoRangeNamesAny) {
  add(0, EventKind::stack, "nn.Module: Net_0", 0, 1000);
  add(0, EventKind::stack, "nn.Module: Embedding_0", 10, 90);
  add(0, EventKind::host, "aten::embedding", 20, 80);
  for (const int layer : {0, 1}) {
    const std::int64_t at = 100 + 200 * layer;
    const std::string number = std::to_string(layer);
    add(0, EventKind::stack, "nn.Module: Layer_" + number, at, at + 150);
    add(0, EventKind::stack, "nn.Module: Linear_" + number, at + 10, at + 60);
    add(0, EventKind::host, "aten::mm", at + 20, at + 30);
    add(0, EventKind::stack, "nn.Module: Linear_" + std::to_string(2 + layer), at + 70, at + 140);
    add(0, EventKind::runtime, "launch " + number, at + 100, at + 110, 7 + layer);
    add(2, EventKind::compute, "kernel " + number, at + 500, at + 510, 7 + layer);
  }
  EXPECT_EQ(of("kernel 0"), "0/forward/Layer_0");
  EXPECT_EQ(of("kernel 1"), "0/forward/Layer_1");
  EXPECT_EQ(of("aten::embedding"), "0/forward/");
  add(0, EventKind::range, "FSDP::all_gather (layers.0)", 2000, 2010);
  EXPECT_EQ(of("aten::mm"), "0/forward/") << "units are FSDP's";
}

TEST_F(PhasesOfEvents, BackwardWorkBelongsToTheBlockOfItsForward) {
  add(0, EventKind::host, "evaluate", 500, 600);  // on a thread that comes first
  add(0, EventKind::runtime, "launch", 510, 520, 7);
  add(1, EventKind::stack, "nn.Module: Layer_0", 0, 100);
  add(1, EventKind::host, "aten::mm", 20, 80);
  add(1, EventKind::stack, "nn.Module: Layer_1", 100, 200);
  add(2, EventKind::compute, "kernel", 600, 700, 7);
  sort(trace_);
  ImportedEvents imported = take_events(trace_);
  imported.links[0].forward = 1 + 3;  // the product
  EXPECT_EQ(imported.strings[imported.events[3].name], "aten::mm");
  attribute(imported);
  EXPECT_EQ(imported.strings[imported.events.back().name], "kernel");
  EXPECT_EQ(imported.strings[imported.events.back().unit], "Layer_0");
}

}  // namespace
}  // namespace foreshard::traces
